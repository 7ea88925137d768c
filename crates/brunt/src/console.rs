//! Standard output and standard error, written by a thread of their own: a terminal that is stopped (Ctrl-S), a pager that
//! is not read on or a full pipe must hold up neither the run nor its reports, nor the answer to a signal.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use brunt_worker::control::come_first;

/// Time between two looks at whether to go on waiting.
const LOOK: Duration = Duration::from_millis(100);

/// Where a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Error,
}

/// The way to both streams, in order. Texts that wait are kept: a run makes a few hundred bytes a second.
pub struct Console {
    /// `None` once it is being closed.
    texts: Option<Sender<(Stream, String)>>,
    /// Ends when everything was written.
    written: Receiver<()>,
}

impl Console {
    /// Starts the thread.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new() -> io::Result<Self> {
        Self::with(io::stdout(), io::stderr())
    }

    fn with(out: impl Write + Send + 'static, error: impl Write + Send + 'static) -> io::Result<Self> {
        let (texts, waiting) = channel::<(Stream, String)>();
        let (done, written) = channel();
        thread::Builder::new().name("console".to_owned()).spawn(move || {
            come_first();
            write_all(&waiting, out, error);
            drop(done);
        })?;
        Ok(Self { texts: Some(texts), written })
    }

    /// Writes a text, behind those that wait.
    pub fn write(&self, stream: Stream, text: &str) {
        if let Some(texts) = &self.texts {
            // The thread ends only when this side does.
            let _ = texts.send((stream, text.to_owned()));
        }
    }

    /// Waits until everything was written, or `give_up` says so, which is asked a few times a second. Whether it was.
    pub fn close(&mut self, mut give_up: impl FnMut() -> bool) -> bool {
        self.texts = None;
        loop {
            match self.written.recv_timeout(LOOK) {
                Err(RecvTimeoutError::Timeout) if give_up() => return false,
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return true,
            }
        }
    }
}

fn write_all(waiting: &Receiver<(Stream, String)>, mut out: impl Write, mut error: impl Write) {
    let mut gone = false;
    for (stream, text) in waiting {
        match stream {
            // The run outlives its console: `brunt … | head` must not lose results.
            Stream::Out if gone => {}
            Stream::Out => gone = put(&mut out, &text).is_err(),
            Stream::Error => {
                let _ = put(&mut error, &text);
            }
        }
    }
}

fn put(to: &mut impl Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    to.flush()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<String>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().push_str(std::str::from_utf8(bytes).unwrap());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn both_streams_keep_their_order() {
        let sink = Sink::default();
        let mut console = Console::with(sink.clone(), sink.clone()).unwrap();
        for (stream, text) in [(Stream::Out, "a"), (Stream::Error, "b"), (Stream::Out, "c")] {
            console.write(stream, text);
        }
        assert!(console.close(|| false));
        assert_eq!(*sink.0.lock().unwrap(), "abc");
    }

    #[test]
    fn a_console_that_is_gone_takes_nothing_with_it() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let errors = Sink::default();
        let mut console = Console::with(Gone, errors.clone()).unwrap();
        console.write(Stream::Out, "a");
        console.write(Stream::Error, "b");
        assert!(console.close(|| false));
        assert_eq!(*errors.0.lock().unwrap(), "b");
    }

    #[test]
    fn a_console_that_is_stopped_is_not_waited_for() {
        struct Stopped(Receiver<()>);
        impl Write for Stopped {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                let _ = self.0.recv();
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (go_on, held) = channel();
        let mut console = Console::with(Stopped(held), io::sink()).unwrap();
        console.write(Stream::Out, "a");
        assert!(!console.close(|| true));
        drop(go_on);
        assert!(console.close(|| false));
    }
}
