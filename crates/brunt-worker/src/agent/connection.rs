//! Connections of clients, each with a number, which can be cut from this side.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{mpsc, watch};
use tonic::transport::server::Connected;

/// A stream of bytes in both directions.
pub trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

/// Which connection a call came over: in the extensions of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller(pub u64);

/// What the server reads and writes. Tells its end when it is dropped.
pub struct Connection {
    stream: Box<dyn Bytes>,
    caller: Caller,
    cut: Pin<Box<dyn Future<Output = ()> + Send>>,
    is_cut: bool,
    ended: mpsc::UnboundedSender<u64>,
}

/// What connections hand to the server and to their keeper.
pub struct Ends {
    /// New connections.
    pub incoming: mpsc::UnboundedReceiver<io::Result<Connection>>,
    /// Numbers of those that have ended.
    pub ended: mpsc::UnboundedReceiver<u64>,
}

/// All connections.
pub struct Connections {
    incoming: mpsc::UnboundedSender<io::Result<Connection>>,
    ended: mpsc::UnboundedSender<u64>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    next: u64,
    cuts: HashMap<u64, watch::Sender<bool>>,
}

impl Connections {
    /// None yet. The first gets number 0.
    pub fn new() -> (Self, Ends) {
        let (to_server, incoming) = mpsc::unbounded_channel();
        let (ended, has_ended) = mpsc::unbounded_channel();
        let connections = Self { incoming: to_server, ended, open: Mutex::default() };
        (connections, Ends { incoming, ended: has_ended })
    }

    /// Hands a stream to the server, and gives its number.
    pub fn add(&self, stream: impl Bytes + 'static) -> u64 {
        let (cut, mut is_cut) = watch::channel(false);
        let number = {
            let mut open = self.open();
            let number = open.next;
            open.next += 1;
            open.cuts.insert(number, cut);
            number
        };
        let connection = Connection {
            stream: Box::new(stream),
            caller: Caller(number),
            // Without its sender the connection is forgotten, which happens at its end.
            cut: Box::pin(async move { drop(is_cut.wait_for(|cut| *cut).await) }),
            is_cut: false,
            ended: self.ended.clone(),
        };
        // The server goes last.
        let _ = self.incoming.send(Ok(connection));
        number
    }

    /// Takes a number for something that only ends, which is told like the end of a connection.
    pub fn watch(&self, mut lives: impl AsyncRead + Send + Unpin + 'static) -> u64 {
        let number = {
            let mut open = self.open();
            open.next += 1;
            open.next - 1
        };
        let ended = self.ended.clone();
        tokio::spawn(async move {
            // An error is an end as well.
            let _ = tokio::io::copy(&mut lives, &mut tokio::io::sink()).await;
            let _ = ended.send(number);
        });
        number
    }

    /// Ends a connection, whatever is on its way.
    pub fn cut(&self, number: u64) {
        if let Some(cut) = self.open().cuts.get(&number) {
            cut.send_replace(true);
        }
    }

    /// Ends all connections.
    pub fn cut_all(&self) {
        for cut in self.open().cuts.values() {
            cut.send_replace(true);
        }
    }

    /// A connection has ended.
    pub fn forget(&self, number: u64) {
        self.open().cuts.remove(&number);
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if !self.is_cut {
            self.is_cut = self.cut.as_mut().poll(cx).is_ready();
        }
        if self.is_cut { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // The keeper goes last.
        let _ = self.ended.send(self.caller.0);
    }
}

impl Connected for Connection {
    type ConnectInfo = Caller;

    fn connect_info(&self) -> Caller {
        self.caller
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, buf))?;
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn a_cut_wakes_whoever_reads_and_tells_the_end() {
        let (connections, mut ends) = Connections::new();
        let (mut near, far) = tokio::io::duplex(64);
        assert_eq!(connections.add(far), 0);
        let mut connection = ends.incoming.recv().await.unwrap().unwrap();
        near.write_all(b"x").await.unwrap();
        assert_eq!(connection.read_u8().await.unwrap(), b'x');
        let waits = tokio::spawn(async move { connection.read_u8().await.unwrap_err().kind() });
        tokio::task::yield_now().await;
        connections.cut(0);
        assert_eq!(waits.await.unwrap(), io::ErrorKind::ConnectionAborted);
        assert_eq!(ends.ended.recv().await, Some(0));
        assert_eq!(near.read(&mut [0]).await.unwrap(), 0, "the far end is gone");
        connections.forget(0);
        assert_eq!(connections.add(near), 1);
    }
}
