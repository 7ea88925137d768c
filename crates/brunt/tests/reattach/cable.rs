//! A cable between two ends of TCP that can be cut.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

#[derive(Default)]
struct State {
    cut: bool,
    /// Connections that came while it was cut.
    knocks: usize,
    streams: Vec<TcpStream>,
}

type Shared = Arc<(Mutex<State>, Condvar)>;

/// Takes connections and passes their bytes on.
pub struct Cable {
    address: SocketAddr,
    shared: Shared,
}

impl Cable {
    pub fn to(far: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Shared::default();
        let state = Arc::clone(&shared);
        // It ends with the test.
        std::thread::spawn(move || listener.incoming().flatten().for_each(|near| join(&state, near, far)));
        Self { address, shared }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends all connections; those that come are ended at once.
    pub fn cut(&self) {
        let mut state = self.shared.0.lock().unwrap();
        (state.cut, state.knocks) = (true, 0);
        for stream in state.streams.drain(..) {
            // It may have ended.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub fn mend(&self) {
        self.shared.0.lock().unwrap().cut = false;
    }

    /// Waits until so many connections were tried while it was cut.
    pub fn wait_for_knocks(&self, count: usize) {
        let state = self.shared.0.lock().unwrap();
        drop(self.shared.1.wait_while(state, |state| state.knocks < count).unwrap());
    }
}

fn join(shared: &Shared, near: TcpStream, far: SocketAddr) {
    let mut state = shared.0.lock().unwrap();
    if state.cut {
        state.knocks += 1;
        shared.1.notify_all();
        return;
    }
    let Ok(far) = TcpStream::connect(far) else { return };
    let clone = |stream: &TcpStream| stream.try_clone().unwrap();
    state.streams.extend([clone(&near), clone(&far)]);
    for (mut from, mut to) in [(clone(&near), clone(&far)), (far, near)] {
        std::thread::spawn(move || {
            // However it ends, both are over.
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
    }
}
