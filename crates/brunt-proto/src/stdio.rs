//! How client and agent meet over the standard streams of a child process.
//!
//! The client starts `program agent --stdio … --marker HEX` with a marker of its own choice. The agent
//! writes one line `BRUNT-STREAM HEX` to its standard output; HTTP/2 begins behind it. What a login script
//! or a wrapper wrote before that line is skipped and logged. The agent's standard error is a log.

use std::ffi::OsStr;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tonic::transport::{Channel, Endpoint, Uri};
use tower::service_fn;

use crate::broken;
use crate::lines::next_line;

/// Time an agent has from its start to its marker.
pub const START_LIMIT: Duration = Duration::from_secs(60);

/// Probes on a silent connection, set on both sides. A host that is only busy must not be given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keepalive {
    /// Silence before a probe.
    pub interval: Duration,
    /// Time for its answer.
    pub timeout: Duration,
}

impl Default for Keepalive {
    fn default() -> Self {
        Self { interval: Duration::from_secs(10), timeout: Duration::from_secs(30) }
    }
}

/// Makes a marker: 32 hexadecimal digits. It need not be secret, only absent from chatter.
pub fn new_marker() -> String {
    format!("{:016x}{:016x}", RandomState::new().hash_one(1), RandomState::new().hash_one(2))
}

/// The line that ends the chatter.
pub fn marker_line(marker: &str) -> String {
    format!("BRUNT-STREAM {marker}")
}

/// Reads up to the marker's line and sends what comes before to `chatter`, as long as somebody takes it.
/// `false`: the stream ended without the marker.
///
/// # Errors
/// Those of the stream.
pub async fn skip_to_marker<R: AsyncBufRead + Unpin>(
    reader: &mut R,
    marker: &str,
    chatter: &mpsc::Sender<String>,
) -> io::Result<bool> {
    let wanted = marker_line(marker);
    while let Some(line) = next_line(reader).await? {
        // A prompt without a line end may stand before the marker.
        let before = line.strip_suffix(&wanted);
        let found = before.is_some();
        let before = before.unwrap_or(&line);
        if !(found && before.is_empty()) {
            // Whoever started this is gone when nobody takes the line.
            let _ = chatter.send(before.to_owned()).await;
        }
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Makes a gRPC channel of one byte stream. When the stream is gone, so is the channel: it never
/// reconnects.
///
/// # Errors
/// The HTTP/2 handshake failed.
pub async fn channel<S>(stream: S, keepalive: Keepalive) -> Result<Channel, NoChannel>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut stream = Some(TokioIo::new(stream));
    Endpoint::from_static("http://agent.invalid")
        .http2_keep_alive_interval(keepalive.interval)
        .keep_alive_timeout(keepalive.timeout)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(4 << 20)
        .connect_with_connector(service_fn(move |_: Uri| {
            // Whoever calls on it once more.
            let stream = stream.take().ok_or(io::Error::from(io::ErrorKind::NotConnected));
            async move { stream }
        }))
        .await
        .map_err(|error| NoChannel(broken::why(&error)))
}

/// Why a stream cannot carry the protocol, as part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoChannel(String);

/// A started agent.
#[derive(Debug)]
pub struct Started {
    /// The process. Killed when dropped.
    pub child: Child,
    /// The connection.
    pub channel: Channel,
}

/// Why an agent could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program cannot be run.
    #[error("`{program}` cannot be run: {source}")]
    Run {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// The process ended before it showed its marker.
    #[error("`{program}` ended before it was ready ({how}){said}")]
    Ended {
        /// The program.
        program: String,
        /// How it ended.
        how: String,
        /// The last line it wrote, after a colon.
        said: String,
    },
    /// No marker in time.
    #[error("`{program}` was not ready after {} s", START_LIMIT.as_secs())]
    Silent {
        /// The program.
        program: String,
    },
    /// No HTTP/2 behind the marker.
    #[error("`{program}` does not speak the agent's protocol: {source}")]
    Protocol {
        /// The program.
        program: String,
        /// Why.
        source: NoChannel,
    },
}

/// Starts `program` with `arguments` and `--marker …` in a process group of its own, waits for its marker
/// and connects. Chatter and standard error go to `log`, a line each; when nobody reads, the process waits.
/// `log` is let go when the standard error has ended.
///
/// # Errors
/// See [`StartError`]. The process is gone then.
pub async fn start<A: AsRef<OsStr>>(
    program: &Path,
    arguments: impl IntoIterator<Item = A>,
    keepalive: Keepalive,
    log: mpsc::Sender<String>,
) -> Result<Started, StartError> {
    start_with(program, arguments, "", keepalive, log).await
}

/// As [`start`], for a program that reads a line from its standard input before it shows its marker: what is secret
/// must not stand among arguments. An empty one is not sent.
///
/// # Errors
/// As [`start`].
pub async fn start_with<A: AsRef<OsStr>>(
    program: &Path,
    arguments: impl IntoIterator<Item = A>,
    first_line: &str,
    keepalive: Keepalive,
    log: mpsc::Sender<String>,
) -> Result<Started, StartError> {
    let name = program.display().to_string();
    let marker = new_marker();
    let mut child = Command::new(program)
        .args(arguments)
        .args(["--marker", &marker])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|source| StartError::Run { program: name.clone(), source })?;
    let (Some(mut input), Some(output), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        let source = io::Error::other("it has no standard streams");
        return Err(StartError::Run { program: name, source });
    };
    if !first_line.is_empty() {
        // A program that is gone by now says why below.
        let _ = input.write_all(format!("{first_line}\n").as_bytes()).await;
    }
    let (said, mut last_said) = mpsc::channel(1);
    tokio::spawn(copy_lines(BufReader::new(errors), log.clone(), said));

    let mut output = BufReader::new(output);
    match tokio::time::timeout(START_LIMIT, skip_to_marker(&mut output, &marker, &log)).await {
        Ok(Ok(true)) => {}
        Ok(_) => {
            let how = ended(child.wait().await);
            let said = last_said.recv().await.map(|line| format!(": {line}")).unwrap_or_default();
            return Err(StartError::Ended { program: name, how, said });
        }
        Err(_) => return Err(StartError::Silent { program: name }),
    }
    match channel(tokio::io::join(output, input), keepalive).await {
        Ok(channel) => Ok(Started { child, channel }),
        Err(source) => Err(StartError::Protocol { program: name, source }),
    }
}

/// Hands all lines to `log`, and the last one to `said`.
async fn copy_lines(mut from: impl AsyncBufRead + Unpin, log: mpsc::Sender<String>, said: mpsc::Sender<String>) {
    let mut last = None;
    while let Ok(Some(line)) = next_line(&mut from).await {
        last = Some(line.clone());
        if log.send(line).await.is_err() {
            break;
        }
    }
    if let Some(line) = last {
        let _ = said.try_send(line);
    }
}

/// How a process ended, in words.
pub fn ended(status: io::Result<ExitStatus>) -> String {
    use std::os::unix::process::ExitStatusExt;
    match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit status {code}"),
            (None, Some(signal)) => format!("killed by signal {signal}"),
            (None, None) => status.to_string(),
        },
        Err(error) => error.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    async fn skip(bytes: &[u8]) -> (bool, Vec<String>, Vec<u8>) {
        let mut reader = BufReader::new(bytes);
        let (log, mut lines) = mpsc::channel(8);
        let found = skip_to_marker(&mut reader, "a1b2", &log).await.unwrap();
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).await.unwrap();
        drop(log);
        let mut chatter = Vec::new();
        while let Some(line) = lines.recv().await {
            chatter.push(line);
        }
        (found, chatter, rest)
    }

    #[tokio::test]
    async fn the_stream_begins_behind_the_marker() {
        let (found, chatter, rest) = skip(b"BRUNT-STREAM a1b2\nPRI * HTTP/2.0").await;
        assert!(found && chatter.is_empty());
        assert_eq!(rest, b"PRI * HTTP/2.0");
    }

    #[tokio::test]
    async fn chatter_is_handed_over() {
        let (found, chatter, rest) = skip(b"Welcome!\nBRUNT-STREAM other\n$ BRUNT-STREAM a1b2\n\nx").await;
        assert!(found);
        assert_eq!(chatter, ["Welcome!", "BRUNT-STREAM other", "$ "]);
        assert_eq!(rest, b"\nx");
    }

    #[tokio::test]
    async fn no_marker_is_no_stream() {
        let (found, chatter, _) = skip(b"command not found\n").await;
        assert!(!found);
        assert_eq!(chatter, ["command not found"]);
    }

    #[test]
    fn markers_differ() {
        assert_ne!(new_marker(), new_marker());
        assert_eq!(new_marker().len(), 32);
    }

    async fn failure(program: &str, script: &str) -> String {
        let (log, mut lines) = mpsc::channel(8);
        let reader = tokio::spawn(async move { while lines.recv().await.is_some() {} });
        let result = start(Path::new(program), ["-c", script], Keepalive::default(), log).await;
        let text = result.expect_err("this must fail").to_string();
        reader.await.unwrap();
        text
    }

    #[tokio::test]
    async fn a_start_that_fails_says_why() {
        let text = failure("/nowhere/brunt", "").await;
        assert_eq!(text, "`/nowhere/brunt` cannot be run: No such file or directory (os error 2)");
        let text = failure("/bin/sh", "echo first >&2; echo no licence >&2; exit 3").await;
        assert_eq!(text, "`/bin/sh` ended before it was ready (exit status 3): no licence");
        let text = failure("/bin/sh", "kill -9 $$").await;
        assert_eq!(text, "`/bin/sh` ended before it was ready (killed by signal 9)");
    }
}
