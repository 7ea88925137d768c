//! A long way: a TCP proxy on the master's machine through which all bytes come later, in both directions.
#![allow(dead_code)] // each file of tests uses a part of it

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns};

/// Listens on a port of the network namespace, and leads to `target` there, `delay` later each way. Gives the port.
/// Its threads last as long as the process, and see nobody once the namespace is empty.
pub fn start(namespace: &Path, target: String, delay: Duration) -> u16 {
    let namespace = File::open(namespace).unwrap();
    let (told, port) = channel();
    // A thread of its own: where it goes, those that it starts go too, and nobody else.
    thread::spawn(move || {
        setns(&namespace, CloneFlags::CLONE_NEWNET).unwrap();
        drop(namespace);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        told.send(listener.local_addr().unwrap().port()).unwrap();
        lead(&listener, &target, delay);
    });
    port.recv().unwrap()
}

/// Leads from there to `target`, `delay` later each way, as long as there are connections.
pub fn lead(listener: &TcpListener, target: &str, delay: Duration) {
    for near in listener.incoming().map_while(Result::ok) {
        let Ok(far) = TcpStream::connect(target) else { continue };
        let ends = [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)];
        for (from, to) in ends {
            to.set_nodelay(true).unwrap();
            thread::spawn(move || carry(from, to, delay));
        }
    }
}

/// Takes bytes from one end to the other until either is gone.
fn carry(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let (queue, due) = channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        for (at, bytes) in due {
            // The delay itself.
            thread::sleep(at.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if queue.send((Instant::now() + delay, buffer[..count].to_vec())).is_err() {
            break;
        }
    }
}
