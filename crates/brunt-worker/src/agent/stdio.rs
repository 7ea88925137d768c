//! The standard streams, taken away from everybody else in this process.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream as Socket;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use nix::unistd::{dup2_stdin, dup2_stdout};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{UnixStream, unix::pipe};
use tokio::sync::watch;
use tonic::transport::server::Connected;

/// The client's byte stream. Says so when it is dropped, which is when the connection has ended.
pub struct StdioStream {
    input: Box<dyn AsyncRead + Send + Unpin>,
    output: Box<dyn AsyncWrite + Send + Unpin>,
    ended: Arc<watch::Sender<bool>>,
}

/// Moves standard input and output to private descriptors that no child inherits, leaves `/dev/null` and
/// standard error in their places, and writes the marker's line.
pub fn take(marker_line: &str, ended: Arc<watch::Sender<bool>>) -> io::Result<StdioStream> {
    // These clones are close-on-exec and above the standard descriptors.
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    dup2_stdin(File::open("/dev/null")?)?;
    dup2_stdout(io::stderr())?;
    writeln!(output, "{marker_line}")?;
    Ok(StdioStream { input: reader(input)?, output: writer(output.into())?, ended })
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

fn reader(fd: OwnedFd) -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
    Ok(if is_socket(&fd)? { Box::new(socket(fd)?) } else { Box::new(pipe::Receiver::from_owned_fd(fd)?) })
}

fn writer(fd: OwnedFd) -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
    Ok(if is_socket(&fd)? { Box::new(socket(fd)?) } else { Box::new(pipe::Sender::from_owned_fd(fd)?) })
}

impl Drop for StdioStream {
    fn drop(&mut self) {
        self.ended.send_replace(true);
    }
}

impl Connected for StdioStream {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for StdioStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.input).poll_read(cx, buf)
    }
}

impl AsyncWrite for StdioStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.output).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_shutdown(cx)
    }
}
