//! The standard streams, taken away from everybody else in this process.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream as Socket;

use brunt_proto::bound::{Bounded, LINES};
use brunt_proto::lines::next_line;
use brunt_proto::v1::worker_message::Event;
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout};
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::net::{UnixStream, unix::pipe};
use tokio::sync::mpsc;

use super::outbox::Outbox;

/// What a client writes, and what it reads.
pub type Stdio = (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>);

/// Moves standard input and output to private descriptors that no child inherits, and leaves `/dev/null` and
/// standard error in their places. Nothing has been written yet.
pub fn take() -> io::Result<(OwnedFd, File)> {
    // These clones are close-on-exec and above the standard descriptors.
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    dup2_stdin(File::open("/dev/null")?)?;
    dup2_stdout(io::stderr())?;
    Ok((input, output))
}

/// Writes the marker's line, and makes streams of both ends.
pub fn open(input: OwnedFd, mut output: File, marker_line: &str) -> io::Result<Stdio> {
    writeln!(output, "{marker_line}")?;
    Ok((reader(input)?, writer(output.into())?))
}

/// Writes a line.
pub fn say(output: &mut File, line: &str) -> io::Result<()> {
    writeln!(output, "{line}")
}

/// A child's streams are pipes; under some builds of sshd they are Unix sockets.
fn is_socket(fd: &OwnedFd) -> io::Result<bool> {
    Ok(File::from(fd.try_clone()?).metadata()?.file_type().is_socket())
}

fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let socket = Socket::from(fd);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

/// An asynchronous reader of a pipe or socket.
pub fn reader(fd: OwnedFd) -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
    Ok(if is_socket(&fd)? { Box::new(socket(fd)?) } else { Box::new(pipe::Receiver::from_owned_fd(fd)?) })
}

/// An asynchronous writer of a pipe or socket.
pub fn writer(fd: OwnedFd) -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
    Ok(if is_socket(&fd)? { Box::new(socket(fd)?) } else { Box::new(pipe::Sender::from_owned_fd(fd)?) })
}

/// From now on what this process writes to its standard error goes to the client as messages: whoever read it is
/// gone, and a write to a broken pipe fails.
pub fn errors_to(outbox: Outbox) -> io::Result<()> {
    let (reader, writer) = io::pipe()?;
    dup2_stdout(&writer)?;
    dup2_stderr(&writer)?;
    let mut reader = BufReader::new(pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?);
    let (to, lines) = mpsc::channel(LINES);
    tokio::spawn(async move {
        while let Ok(Some(line)) = next_line(&mut reader).await {
            if to.send(line).await.is_err() {
                break;
            }
        }
    });
    let mut lines = Bounded::new(lines, outbox.bound());
    tokio::spawn(async move {
        while let Some(line) = lines.recv().await {
            outbox.push(0, Event::Stderr(line));
        }
    });
    Ok(())
}
