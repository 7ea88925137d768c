//! Commands that the user wants to be run (`startcmd=`, `endcmd=`), on the machine of the master and on hosts alike.

use std::fs::File;
use std::io::{self, PipeWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

use crate::v1::RunHookReply;

/// Most output that is kept, bytes; the rest is counted.
const KEPT: usize = 1 << 20;

/// Most lines of it: each stands with its times in more than one report.
const LINES: usize = 10_000;

/// Runs a command (`$1`) beside a watcher of its process group, which kills the group when its pipe ends without a word:
/// then nobody is left who could, not even by a signal that cannot be caught. The watcher is no child of the command, which
/// may wait for all that it has.
const WATCHED: &str = "exec 3<&0 </dev/null
(if read -r dismissed <&3; then :; else kill -KILL 0; fi >/dev/null 2>&1 &)
exec 3<&-
exec /bin/sh -c \"$1\"";

/// The process group of a hook; killed with everything in it when the hook is given up or whoever runs it is gone.
struct Group {
    leader: Option<Pid>,
    /// That of its watcher.
    watched: PipeWriter,
}

impl Group {
    /// What is left in it goes on, whatever becomes of us.
    fn dismiss(mut self) {
        self.leader = None;
        // Its watcher may have been killed by the hook.
        let _ = self.watched.write_all(b"\n");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.leader {
            // It may have ended in this moment.
            let _ = killpg(group, Signal::SIGKILL);
        }
    }
}

/// Output so far.
#[derive(Default)]
struct Output {
    kept: Vec<u8>,
    dropped: usize,
}

/// Runs a command with `/bin/sh -c` and waits for its end. Standard output and error come in one piece, in
/// their order; standard input is empty. What it leaves running in the background goes on; the command itself ends with this
/// process.
///
/// # Errors
/// The shell could not be started.
pub async fn run(command: &str) -> io::Result<RunHookReply> {
    run_within(command, None).await
}

/// As [`run`], but ends the command's process group after `limit`, and says so in a last line.
///
/// # Errors
/// The shell could not be started.
pub async fn run_within(command: &str, limit: Option<Duration>) -> io::Result<RunHookReply> {
    let (reader, writer) = io::pipe()?;
    let (watches, watched) = io::pipe()?;
    let mut child = Command::new("/bin/sh")
        .args(["-c", WATCHED, "/bin/sh", command])
        .stdin(watches)
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .spawn()?;
    let leader = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
    let group = Group { leader, watched };
    let reader = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
    let mut output = Output::default();
    let ended = {
        let end = read_and_wait(&mut child, reader, &mut output);
        match limit {
            Some(limit) => tokio::time::timeout(limit, end).await.ok(),
            None => Some(end.await),
        }
    };
    let Some(status) = ended else {
        drop(group);
        child.wait().await?;
        let mut lines = output.lines();
        lines.push(format!("(killed: it had not ended after {} s)", limit.unwrap_or_default().as_secs_f64()));
        return Ok(RunHookReply { status: None, lines });
    };
    group.dismiss();
    Ok(RunHookReply { status: status?.code(), lines: output.lines() })
}

/// Reads until the shell has ended and nothing more is there. Waiting for the end of the pipe would wait for
/// what runs on in the background.
async fn read_and_wait(child: &mut Child, mut pipe: pipe::Receiver, output: &mut Output) -> io::Result<ExitStatus> {
    let mut buffer = vec![0; 16 << 10];
    let mut open = true;
    let status = loop {
        tokio::select! {
            count = pipe.read(&mut buffer), if open => match count? {
                0 => open = false,
                count => output.take(buffer.get(..count).unwrap_or_default()),
            },
            status = child.wait() => break status?,
        }
    };
    // The runtime may not know yet that there is more; the system does.
    let mut rest = File::from(pipe.into_nonblocking_fd()?);
    while let Ok(count @ 1..) = rest.read(&mut buffer) {
        output.take(buffer.get(..count).unwrap_or_default());
    }
    Ok(status)
}

impl Output {
    fn take(&mut self, bytes: &[u8]) {
        let room = bytes.len().min(KEPT - self.kept.len());
        self.kept.extend(bytes.iter().take(room));
        self.dropped += bytes.len() - room;
    }

    fn lines(self) -> Vec<String> {
        let kept = String::from_utf8_lossy(&self.kept);
        let mut all = kept.lines();
        let mut lines: Vec<String> = all.by_ref().take(LINES).map(str::to_owned).collect();
        let more = all.count();
        if more > 0 {
            lines.push(format!("({more} more lines of output were dropped)"));
        }
        if self.dropped > 0 {
            lines.push(format!("({} more bytes of output were dropped)", self.dropped));
        }
        lines
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn output_comes_in_order() {
        let reply = run("echo one; echo two >&2; printf three; exit 4").await.unwrap();
        assert_eq!(reply.lines, ["one", "two", "three"]);
        assert_eq!(reply.status, Some(4));
    }

    #[tokio::test]
    async fn a_signal_is_no_status() {
        assert_eq!(run("kill -TERM $$").await.unwrap().status, None);
    }

    #[tokio::test]
    async fn standard_input_is_empty() {
        assert_eq!(run("cat; echo end").await.unwrap().lines, ["end"]);
    }

    /// Whatever waits for all its children (`wait -n` in a loop, a supervisor) must come to an end.
    #[tokio::test]
    async fn a_command_has_no_child_that_it_did_not_make() {
        let reply = run("read -r children </proc/$$/task/$$/children; echo \"[$children]\"").await.unwrap();
        assert_eq!(reply.lines, ["[]"]);
    }

    #[tokio::test]
    async fn the_background_is_not_waited_for() {
        let started = std::time::Instant::now();
        let reply = run("sleep 30 & echo $!").await.unwrap();
        let pid: i32 = reply.lines[0].parse().unwrap();
        nix::sys::signal::kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
        assert!(started.elapsed().as_secs() < 20);
    }

    #[tokio::test]
    async fn a_hook_beyond_its_limit_is_killed_and_says_so() {
        let reply = run_within("echo begun; sleep 1000 & wait", Some(Duration::from_millis(300))).await.unwrap();
        assert_eq!(
            (reply.status, reply.lines),
            (None, vec!["begun".into(), "(killed: it had not ended after 0.3 s)".into()])
        );
        let reply = run_within("exit 3", Some(Duration::from_secs(1000))).await.unwrap();
        assert_eq!((reply.status, reply.lines.len()), (Some(3), 0));
    }

    #[tokio::test]
    async fn endless_output_is_bounded() {
        let reply = run("head -c 3000000 /dev/zero | tr '\\0' x").await.unwrap();
        assert_eq!(reply.lines[0].len(), KEPT);
        assert_eq!(reply.lines[1], format!("({} more bytes of output were dropped)", 3_000_000 - KEPT));
    }

    #[tokio::test]
    async fn lines_without_end_are_bounded() {
        let reply = run("yes '' | head -c 3000000").await.unwrap();
        assert_eq!(reply.lines.len(), LINES + 2);
        assert_eq!(reply.lines[LINES], format!("({} more lines of output were dropped)", KEPT - LINES));
        assert_eq!(reply.lines[LINES + 1], format!("({} more bytes of output were dropped)", 3_000_000 - KEPT));
    }

    #[tokio::test]
    async fn a_hook_given_up_is_killed_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let command = format!("cat /dev/zero > '{0}' & wait", fifo.display());
        let hook = tokio::spawn(async move { run(&command).await });
        // The open returns when the writer is there, and the read ends when it is gone.
        let mut reader = tokio::task::spawn_blocking(|| std::fs::File::open(fifo).unwrap()).await.unwrap();
        hook.abort();
        assert!(hook.await.unwrap_err().is_cancelled());
        tokio::task::spawn_blocking(move || io::copy(&mut reader, &mut io::sink()).unwrap()).await.unwrap();
    }
}
