//! `bootstrap.sh` in the shells that hosts have, talking to the real dial.

use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use super::*;

/// Shells that are to be had; the first two are on every Debian, the third is asked for in CI.
const SHELLS: [&str; 4] = ["dash", "bash", "busybox sh", "bash -u"];

/// Why a test cannot run here. In CI a skip is a failure.
fn skip(why: &str) {
    assert!(std::env::var_os("BRUNT_TEST_NO_SKIP").is_none(), "must not skip here: {why}");
    writeln!(std::io::stderr(), "skipped: {why}").unwrap();
}

fn shells() -> impl Iterator<Item = &'static str> {
    SHELLS.into_iter().filter(|shell| {
        let words: Vec<&str> = shell.split(' ').collect();
        let there = Command::new(words[0]).args(&words[1..]).args(["-c", "exit 0"]).status().is_ok_and(|s| s.success());
        if !there {
            skip(&format!("no `{shell}`"));
        }
        there
    })
}

/// Makes it another user's, where this is root. Root can go everywhere: what keeps it out is the check alone.
fn given_away(path: &Path) -> bool {
    let root = nix::unistd::geteuid().is_root();
    match root {
        true => std::os::unix::fs::chown(path, Some(12_345), None).unwrap(),
        false => skip("only root can give a file away"),
    }
    root
}

async fn begins(bench: &Bench) -> Vec<String> {
    let (result, log) = bench.dial(Purpose::Begin).await;
    assert!(result.is_ok(), "{result:?} {log:?}");
    log
}

async fn refused(bench: &Bench) -> String {
    match bench.fails(Purpose::Begin).await {
        DialError::Never(text) => text,
        DialError::NotNow(text) => panic!("not now: {text}"),
    }
}

#[tokio::test]
async fn the_program_goes_along_once() {
    for shell in shells() {
        let bench = Bench::with_shell(shell, "echo Welcome to db7; printf '$ '; umask 027");
        let log = begins(&bench).await;
        let path = bench.path("home/.cache/brunt").join(bench.copy());
        assert_eq!(log[..2], ["Welcome to db7", "$ "], "{shell}");
        assert!(log[2].starts_with("brunt: copying ") && log[2].ends_with("/home/.cache/brunt"), "{shell}: {log:?}");
        let called = bench.read("home/called");
        let words: Vec<&str> = called.lines().collect();
        let expected = ["agent", "--stdio", "--label", "hosta", "--workers", "3", "--cores", "0-3,8", "--marker"];
        assert_eq!((words[0], &words[1..10]), (path.to_str().unwrap(), &expected[..]), "{shell}");
        assert_eq!(
            bench.read("home/mask").trim_start_matches('0'),
            "27\n",
            "{shell}: files of the user's work keep their modes"
        );
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o700, 0o700), "{shell}");
        assert_eq!(entries(path.parent().unwrap()), [bench.copy()], "{shell}: nothing else is left");
        // It is there now.
        assert_eq!(begins(&bench).await, ["Welcome to db7", "$ "], "{shell}");
    }
}

#[tokio::test]
async fn a_token_is_read_and_no_argument() {
    for shell in shells() {
        let bench = Bench::with_shell(shell, "");
        let (result, log) = bench.dial(Purpose::Attach { token: "s3cr3t".to_owned() }).await;
        assert!(result.is_ok(), "{shell}: {result:?} {log:?}");
        assert_eq!(bench.read("home/token"), "s3cr3t\n", "{shell}");
        let called = bench.read("home/called");
        assert!(called.contains("\nagent\n--attach\n--marker\n") && !called.contains("s3cr3t"), "{shell}: {called}");
        assert!(!log.iter().any(|line| line.contains("s3cr3t")), "{shell}: {log:?}");
    }
}

#[tokio::test]
async fn privileges_go_before_the_command() {
    let mut bench = Bench::with_shell("dash", "");
    bench.dial.host.privileges = ["env", "WHO=two words"].map(str::to_owned).to_vec();
    bench.dial.host.label = "it's $HOME".to_owned();
    begins(&bench).await;
    assert!(bench.read("home/called").contains("\n--label\nit's $HOME\n"));
}

#[tokio::test]
async fn an_installed_program_is_used_and_never_copied() {
    for shell in shells() {
        let mut bench = Bench::with_shell(shell, "");
        std::fs::create_dir(bench.path("home/opt dir")).unwrap();
        let installed = bench.path("home/opt dir/brunt");
        assert!(Command::new("cp").arg(bench.path("program")).arg(&installed).status().unwrap().success());
        assert!(Command::new("chmod").arg("755").arg(&installed).status().unwrap().success());
        for folder in [bench.path("home/opt dir/").to_str().unwrap(), "~/opt dir"] {
            bench.dial.host.install_dir = Some(folder.to_owned());
            assert_eq!(begins(&bench).await, [""; 0], "{shell}");
            assert_eq!(bench.read("home/called").lines().next(), installed.to_str(), "{shell}");
        }
        assert_eq!(entries(&bench.path("home/.cache")), [""; 0]);
    }
}

#[tokio::test]
async fn a_folder_of_vdbench_has_no_brunt() {
    let mut bench = Bench::with_shell("dash", "");
    bench.dial.host.install_dir = Some("/opt/nosuch/".to_owned());
    let log = begins(&bench).await;
    assert_eq!(log[0], "there is no brunt in vdbench=/opt/nosuch; a copy of the master's is used");
}

#[tokio::test]
async fn an_installed_program_that_does_not_run_is_named() {
    let mut bench = Bench::with_shell("dash", "");
    std::fs::write(bench.path("home/brunt"), "#!/bin/sh\necho no libfoo.so.1 >&2; exit 127\n").unwrap();
    assert!(Command::new("chmod").arg("755").arg(bench.path("home/brunt")).status().unwrap().success());
    let home = bench.path("home").to_str().unwrap().to_owned();
    bench.dial.host.install_dir = Some(home.clone());
    let expected = format!(
        "ssh bench@db7: the program does not run there: {home}/brunt: no libfoo.so.1; it needs libraries that the host has \
         not got; put a static build beside this one (README, \"Remote hosts\")"
    );
    assert_eq!(refused(&bench).await, expected);
}

#[tokio::test]
async fn a_damaged_copy_is_replaced() {
    for shell in shells() {
        let bench = Bench::with_shell(shell, "");
        begins(&bench).await;
        let path = bench.path("home/.cache/brunt").join(bench.copy());
        std::fs::write(&path, format!("{PROGRAM}# damaged\n")).unwrap();
        assert_eq!(begins(&bench).await.len(), 1, "{shell}: copied again");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), PROGRAM, "{shell}");
    }
}

#[tokio::test]
async fn a_folder_of_others_is_not_used() {
    for shell in shells() {
        let bench = Bench::with_shell(shell, "");
        // Others may write into it: whatever is there is not executed.
        let folder = bench.path("home/.cache/brunt");
        std::fs::create_dir(&folder).unwrap();
        let trap = folder.join(bench.copy());
        std::fs::write(&trap, "#!/bin/sh\ntouch \"$HOME/trapped\"\n").unwrap();
        std::fs::set_permissions(&trap, PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o777)).unwrap();
        let log = begins(&bench).await;
        assert!(log[0].contains("/top/var/tmp/brunt-"), "{shell}: {log:?}");
        assert!(!bench.path("home/trapped").exists(), "{shell}");
        // Nor is a link.
        let bench = Bench::with_shell(shell, "");
        std::fs::create_dir(bench.path("elsewhere")).unwrap();
        std::fs::set_permissions(bench.path("elsewhere"), PermissionsExt::from_mode(0o700)).unwrap();
        symlink(bench.path("elsewhere"), bench.path("home/.cache/brunt")).unwrap();
        let log = begins(&bench).await;
        assert!(log[0].contains("/top/var/tmp/brunt-"), "{shell}: {log:?}");
        assert_eq!(entries(&bench.path("elsewhere")), [""; 0], "{shell}");
    }
}

/// What a stranger could put there while the folder was still open. It would say of itself that it is the right one.
#[tokio::test]
async fn a_copy_that_others_may_have_put_there_is_not_asked() {
    const TRAP: &str = "#!/bin/sh\ntouch \"$HOME/trapped\"\n";
    for shell in shells() {
        for planted in ["open", "link", "given"] {
            let bench = Bench::with_shell(shell, "");
            let (folder, trap) = (bench.path("home/.cache/brunt"), bench.path("home/trap"));
            std::fs::create_dir(&folder).unwrap();
            std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o700)).unwrap();
            std::fs::write(&trap, TRAP).unwrap();
            std::fs::set_permissions(&trap, PermissionsExt::from_mode(if planted == "open" { 0o755 } else { 0o700 }))
                .unwrap();
            match planted {
                "link" => symlink(&trap, folder.join(bench.copy())).unwrap(),
                "given" if !given_away(&trap) => continue,
                _ => std::fs::rename(&trap, folder.join(bench.copy())).unwrap(),
            }
            assert_eq!(begins(&bench).await.len(), 1, "{shell}, {planted}: copied");
            assert!(!bench.path("home/trapped").exists(), "{shell}, {planted}");
            let copy = folder.join(bench.copy());
            assert!(copy.symlink_metadata().unwrap().is_file(), "{shell}, {planted}");
            assert_eq!(std::fs::read_to_string(copy).unwrap(), PROGRAM, "{shell}, {planted}");
        }
    }
}

#[tokio::test]
async fn a_folder_of_another_user_is_not_used() {
    for shell in shells() {
        let bench = Bench::with_shell(shell, "");
        let folder = bench.path("home/.cache/brunt");
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o700)).unwrap();
        if !given_away(&folder) {
            return;
        }
        std::fs::remove_dir_all(bench.path("top")).unwrap();
        let text = refused(&bench).await;
        assert!(text.contains("/home/.cache/brunt: belongs to somebody else; "), "{shell}: {text}");
        assert_eq!(entries(&folder), [""; 0], "{shell}");
    }
}

#[tokio::test]
async fn when_no_folder_will_do_all_reasons_are_told() {
    for shell in shells() {
        let bench = Bench::with_shell(shell, "");
        std::fs::write(bench.path("home/.cache/brunt"), "").unwrap();
        std::fs::remove_dir_all(bench.path("top")).unwrap();
        let text = refused(&bench).await;
        assert!(
            text.starts_with("ssh bench@db7: no folder there takes and runs a copy of the program ("),
            "{shell}: {text}"
        );
        assert!(text.contains("/home/.cache/brunt: ") && text.contains("/dev/shm/brunt-"), "{shell}: {text}");
        assert_eq!(text.matches("No such file or directory").count(), 3, "{shell}: {text}");
        assert!(text.ends_with("install it there and name its folder with vdbench="), "{shell}: {text}");
    }
}

#[tokio::test]
async fn the_newest_three_copies_stay() {
    let bench = Bench::with_shell("dash", "");
    begins(&bench).await;
    let folder = bench.path("home/.cache/brunt");
    std::fs::remove_file(folder.join(bench.copy())).unwrap();
    for (name, date) in [
        ("brunt-a", "2001-01-01"),
        ("brunt-b", "2002-01-01"),
        ("brunt-c", "2003-01-01"),
        ("part-db9-7", "2003-01-01"),
        ("other", "1999-01-01"),
    ] {
        std::fs::write(folder.join(name), "").unwrap();
        assert!(Command::new("touch").args(["-d", date]).arg(folder.join(name)).status().unwrap().success());
    }
    std::fs::write(folder.join("part-db9-8"), "").unwrap();
    begins(&bench).await;
    let mut expected = ["brunt-b", "brunt-c", "other", "part-db9-8"].map(str::to_owned).to_vec();
    expected.insert(0, bench.copy());
    expected.sort();
    assert_eq!(entries(&folder), expected);
}

#[tokio::test]
async fn a_machine_without_a_program_is_named() {
    for (system, machine, expected) in [
        ("Darwin", "arm64", "it runs Darwin (arm64); Brunt runs on Linux only".to_owned()),
        (
            "Linux",
            "riscv64",
            format!("it is a riscv64 machine; there are programs for {} only;", std::env::consts::ARCH),
        ),
    ] {
        let bench = Bench::new("");
        let tools = bench.path("home/tools");
        std::fs::create_dir(&tools).unwrap();
        let fake = format!("#!/bin/sh\ncase $1 in -s) echo {system} ;; *) echo {machine} ;; esac\n");
        std::fs::write(tools.join("uname"), fake).unwrap();
        assert!(Command::new("chmod").arg("755").arg(tools.join("uname")).status().unwrap().success());
        let ssh = format!(
            "HOME={0}; PATH={1}:$PATH; export HOME PATH; exec dash\n",
            bench.path("home").display(),
            tools.display()
        );
        std::fs::write(bench.path("ssh"), ssh).unwrap();
        let text = refused(&bench).await;
        assert!(text.starts_with(&format!("ssh bench@db7: {expected}")), "{text}");
    }
}

/// A small file system of its own; needs root.
struct Mounted(PathBuf);

impl Mounted {
    fn at(path: PathBuf, options: &str) -> Option<Self> {
        std::fs::create_dir_all(&path).unwrap();
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&path).output();
        match done.is_ok_and(|done| done.status.success()) {
            true => Some(Self(path)),
            false => {
                skip("no mount of a tmpfs (root is needed)");
                None
            }
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[tokio::test]
async fn a_folder_without_room_or_execution_is_passed_by() {
    for shell in shells() {
        let mut bench = Bench::with_shell(shell, "");
        // There is room for the probe, none for a program of more than four pages.
        bench.offer(&format!("{PROGRAM}#{}\n", "x".repeat(40 << 10)));
        let Some(_full) = Mounted::at(bench.path("home/.cache"), "size=16k,mode=700") else { return };
        let Some(_noexec) = Mounted::at(bench.path("top/var/tmp"), "size=1m,noexec,mode=1777") else { return };
        let text = refused(&bench).await;
        assert!(text.contains("/home/.cache/brunt: No space left on device; "), "{shell}: {text}");
        assert!(text.contains(": files do not execute there (Permission denied); "), "{shell}: {text}");
        assert!(entries(&bench.path("home/.cache/brunt")).is_empty(), "{shell}: nothing half is left");
        // The next one that will do is taken; what could not be written was read all the same.
        std::fs::create_dir(bench.path("top/dev/shm")).unwrap();
        let log = begins(&bench).await;
        assert_eq!(log.len(), 2, "{shell}: sent twice: {log:?}");
        assert!(log[1].contains("/top/dev/shm/brunt-"), "{shell}: {log:?}");
    }
}
