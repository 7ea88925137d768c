//! Connections that are not let in yet. There is room for some; what is too many goes at the cost of the address that
//! has the most, so that a flood from a few addresses puts nobody else out, however long a handshake takes.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use tokio::task::AbortHandle;

/// Connections that may be at it at a time.
const ALL: usize = 64;

/// Connections of one address that may be at it at a time.
const OF_ONE: usize = 16;

/// Those that are at it, the oldest first.
#[derive(Debug, Default)]
pub struct Queue(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    peer: SocketAddr,
    task: AbortHandle,
}

impl Queue {
    /// Takes a further one in, and gives the one that it puts out: the oldest of the address that has the most.
    pub fn push(&mut self, peer: SocketAddr, task: AbortHandle) -> Option<SocketAddr> {
        self.0.retain(|entry| !entry.task.is_finished());
        let is_full = self.0.len() >= ALL;
        self.0.push(Entry { peer, task });
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for entry in &self.0 {
            *counts.entry(source(entry.peer)).or_default() += 1;
        }
        let count = |peer| counts.get(&source(peer)).copied().unwrap_or_default();
        let most = counts.values().copied().max().unwrap_or_default();
        let out = match (count(peer) > OF_ONE, is_full) {
            (true, _) => self.0.iter().position(|entry| source(entry.peer) == source(peer)),
            (false, true) => self.0.iter().position(|entry| count(entry.peer) == most),
            (false, false) => None,
        };
        let out = self.0.remove(out?);
        out.task.abort();
        Some(out.peer)
    }
}

/// Whose connection it is: in IPv6 one host has all addresses of a network of 64 bits.
fn source(peer: SocketAddr) -> IpAddr {
    match peer.ip().to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX))),
        ip => ip,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tokio::task::JoinHandle;

    fn peer(host: u8, port: usize) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, host], u16::try_from(port).unwrap()))
    }

    fn task() -> JoinHandle<()> {
        tokio::spawn(std::future::pending())
    }

    #[tokio::test]
    async fn an_address_puts_its_own_oldest_out() {
        let mut queue = Queue::default();
        let oldest = task();
        assert_eq!(queue.push(peer(1, 0), oldest.abort_handle()), None);
        for port in 1..OF_ONE {
            assert_eq!(queue.push(peer(1, port), task().abort_handle()), None);
        }
        assert_eq!(queue.push(peer(1, 99), task().abort_handle()), Some(peer(1, 0)));
        assert!(oldest.await.unwrap_err().is_cancelled());
        assert_eq!(queue.push(peer(2, 0), task().abort_handle()), None, "another address has room");
    }

    #[tokio::test]
    async fn a_flood_from_a_few_addresses_puts_nobody_else_out() {
        let mut queue = Queue::default();
        assert_eq!(queue.push(peer(1, 1), task().abort_handle()), None);
        // As many as could be without any of them having two.
        for n in 0..100 * ALL {
            let stranger = peer(2 + u8::try_from(n % (ALL - 1)).unwrap(), n % 60_000);
            assert_ne!(queue.push(stranger, task().abort_handle()), Some(peer(1, 1)), "{n}");
        }
        assert_eq!(queue.0.len(), ALL);
        assert_eq!(queue.0[0].peer, peer(1, 1));
    }

    #[tokio::test]
    async fn those_that_are_through_make_room() {
        let mut queue = Queue::default();
        let tasks: Vec<_> = (0..OF_ONE).map(|_| task()).collect();
        for (port, task) in tasks.iter().enumerate() {
            queue.push(peer(1, port), task.abort_handle());
        }
        for task in tasks {
            task.abort();
            let _ = task.await;
        }
        assert_eq!(queue.push(peer(1, 99), task().abort_handle()), None);
        assert_eq!(queue.0.len(), 1);
    }

    #[test]
    fn a_host_has_a_network_of_ipv6() {
        let source = |address: &str| source(address.parse().unwrap());
        assert_eq!(source("[fd00::1]:1"), source("[fd00::2:3]:4"));
        assert_ne!(source("[fd00::1]:1"), source("[fd00:0:0:1::1]:1"));
        assert_eq!(source("[::ffff:10.0.0.1]:1"), source("10.0.0.1:2"));
        assert_ne!(source("10.0.0.1:1"), source("10.0.0.2:1"));
    }
}
