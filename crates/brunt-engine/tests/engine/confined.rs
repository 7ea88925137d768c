//! The same tests where less is allowed: an old kernel, a container, small limits, one CPU.
//!
//! A test starts this program again, confined. `BRUNT_TEST_CONFINED` tells the child how.
#![allow(unsafe_code)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::NonNull;

use brunt_engine::buffer::Buffer;
use brunt_engine::port::Outfit;
use brunt_engine::port::uring::UringPort;

/// What is taken away.
#[derive(Clone, Copy, PartialEq)]
enum Confinement {
    /// Every system call newer than kernel 3.10 is unknown.
    OldKernel,
    /// io_uring is forbidden, as the default filter of container engines does.
    Container,
    /// 64 open files, 64 KiB of locked memory, one CPU.
    Limits,
}

/// How this process is confined.
fn here() -> Option<String> {
    std::env::var("BRUNT_TEST_CONFINED").ok()
}

pub fn is_confined() -> bool {
    here().is_some()
}

/// The last system call of kernel 3.10 is `finit_module`, on x86_64 (313) as in the table of the newer architectures
/// (273); whatever came later has a higher number.
const NEWEST_OF_3_10: u32 = libc::SYS_finit_module as u32;

/// Instructions of the classic packet filter: load the number of the system call, compare, answer (seccomp(2)).
fn load_number() -> libc::sock_filter {
    libc::sock_filter { code: (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, jt: 0, jf: 0, k: 0 }
}

fn jump_unless(comparison: u32, k: u32, skip: u8) -> libc::sock_filter {
    libc::sock_filter { code: (libc::BPF_JMP | comparison | libc::BPF_K) as u16, jt: 0, jf: skip, k }
}

fn answer(k: u32) -> libc::sock_filter {
    libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k }
}

fn refuse(errno: i32) -> libc::sock_filter {
    answer(libc::SECCOMP_RET_ERRNO | errno as u32)
}

fn filter(confinement: Confinement) -> Vec<libc::sock_filter> {
    let allow = answer(libc::SECCOMP_RET_ALLOW);
    match confinement {
        Confinement::OldKernel => {
            vec![load_number(), jump_unless(libc::BPF_JGT, NEWEST_OF_3_10, 1), refuse(libc::ENOSYS), allow]
        }
        Confinement::Container => {
            let mut filter = vec![load_number()];
            for call in [libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register] {
                filter.extend([jump_unless(libc::BPF_JEQ, call as u32, 1), refuse(libc::EPERM)]);
            }
            filter.push(allow);
            filter
        }
        Confinement::Limits => Vec::new(),
    }
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Installs a filter for this process and its children. Allocates nothing.
fn install(filter: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: plain values; the kernel copies the program.
    unsafe {
        checked(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        checked(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program, 0, 0))
    }
}

/// Sets the small limits. Allocates nothing.
fn limit() -> io::Result<()> {
    const CAP_IPC_LOCK: libc::c_ulong = 14;
    let few = |n| libc::rlimit { rlim_cur: n, rlim_max: n };
    // SAFETY: plain values and structures that live through the calls; an all-zero cpu_set_t is an empty set.
    unsafe {
        // Root would be above the limit of locked memory. Others cannot drop it and do not have it.
        libc::prctl(libc::PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0);
        checked(libc::setrlimit(libc::RLIMIT_MEMLOCK, &few(64 * 1024)))?;
        checked(libc::setrlimit(libc::RLIMIT_NOFILE, &few(64)))?;
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(libc::sched_getcpu().max(0) as usize, &mut set);
        checked(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set))
    }
}

/// Runs tests of this program under a confinement, and says how many passed.
fn run(confinement: Confinement, name: &str, tests: &[&str]) -> usize {
    let filter = filter(confinement);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(tests).args(["--skip", "confined::outside"]).env("BRUNT_TEST_CONFINED", name);
    if confinement == Confinement::Limits {
        command.arg("--test-threads=1");
    }
    // SAFETY: between fork and exec only system calls are made; the filter was allocated before.
    unsafe {
        command.pre_exec(move || match confinement {
            Confinement::Limits => limit(),
            _ => install(&filter),
        })
    };
    let done = command.output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{said}");
    let passed = said.lines().find_map(|l| l.strip_prefix("test result: ok. ")?.split(' ').next()?.parse().ok());
    passed.unwrap_or_else(|| panic!("no result: {said}"))
}

mod inside {
    use super::*;

    #[test]
    fn what_works_is_told() {
        let support = brunt_engine::support::support();
        assert_eq!(support.no_aio, None);
        match here().as_deref() {
            Some("old kernel") => {
                assert_eq!(support.no_uring.as_deref(), Some("no io_uring: the kernel has none, or seccomp hides it"));
                // A call that kernel 3.10 has not, to see that the filter is there.
                // SAFETY: the call has no arguments that matter: it is not there.
                let newer = unsafe { libc::syscall(libc::SYS_membarrier, 0, 0) };
                assert_eq!((newer, io::Error::last_os_error().raw_os_error()), (-1, Some(libc::ENOSYS)));
            }
            Some("container") => {
                let why = support.no_uring.unwrap();
                assert!(why.starts_with("no io_uring: forbidden"), "{why}");
            }
            _ => {}
        }
    }

    #[test]
    fn buffers_are_registered_within_the_limit() {
        if let Some(why) = brunt_engine::support::support().no_uring {
            return assert!(is_confined(), "{why}");
        }
        let mut memory = Buffer::new(1 << 20).unwrap();
        let arena = NonNull::from(memory.bytes());
        let port = UringPort::new(&Outfit { files: &[], lanes: 1, arena }).unwrap();
        assert_eq!(port.has_fixed_buffers(), here().as_deref() != Some("limits"));
    }

    #[test]
    fn a_probe_of_nowait_needs_the_call() {
        let Some(medium) = crate::media::Medium::looped(1 << 20) else { return };
        // An old kernel cannot tell.
        let expected = if here().as_deref() == Some("old kernel") { None } else { Some(true) };
        assert_eq!(brunt_engine::probe::nowait(&medium.path), expected);
    }
}

mod outside {
    use super::*;

    #[test]
    fn everything_works_on_kernel_3_10() {
        let passed = run(Confinement::OldKernel, "old kernel", &[]);
        assert!(passed >= 40, "{passed}");
    }

    #[test]
    fn aio_carries_on_where_io_uring_is_forbidden() {
        let passed = run(Confinement::Container, "container", &["ports::", "confined::inside"]);
        assert!(passed >= 12, "{passed}");
    }

    #[test]
    fn small_limits_suffice() {
        let passed = run(Confinement::Limits, "limits", &["ports::", "files::", "confined::inside"]);
        assert!(passed >= 20, "{passed}");
    }
}
