//! Why a connection is broken, in words. The libraries say `http2 error` and `transport error` for nearly everything;
//! what happened is in the errors behind those.

use std::error::Error;
use std::io::{self, ErrorKind};

/// What happened to a connection, as part of a sentence: what it shows, and where more is to be found.
pub fn why(error: &(dyn Error + 'static)) -> String {
    let (mut chain, mut next) = (Vec::new(), Some(error));
    while let Some(error) = next {
        chain.push(error);
        next = error.source();
    }
    if let Some(words) = chain.iter().rev().find_map(|error| error.downcast_ref::<io::Error>()).map(of_system) {
        return words;
    }
    // Types of libraries that this crate does not use itself.
    let last = chain.last().map(ToString::to_string).unwrap_or_default();
    match last.split_once(": ") {
        _ if last.contains("timed out") => {
            "probes of the connection had no answer: the other end hangs, or the network in between is broken"
                .to_owned()
        }
        _ if chain.iter().any(|error| error.to_string() == "operation was canceled") => closed(),
        Some(("connection error detected", what)) => {
            format!(
                "what came over the connection is not the protocol of brunt ({what}): something else wrote into the stream"
            )
        }
        Some(("connection error received", what)) => {
            format!("the other end has given the connection up ({what}); its log may say why")
        }
        Some(("stream error received", what)) => {
            format!("the other end has given the call up ({what}); its log may say why")
        }
        _ => last,
    }
}

fn closed() -> String {
    "the other end has closed the connection; its log may say why".to_owned()
}

fn of_system(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof | ErrorKind::NotConnected => closed(),
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => {
            "the connection was reset: the other end was killed, or something in between has cut it".to_owned()
        }
        ErrorKind::ConnectionRefused => "the connection was refused: nothing listens there".to_owned(),
        ErrorKind::TimedOut => "nothing came any more: the host or the network in between is down".to_owned(),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown => {
            format!("there is no way to the host ({error})")
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;

    use super::*;
    use crate::CallError;
    use crate::stdio::{Keepalive, channel};
    use crate::v1::{self, agent_client::AgentClient};

    /// An empty frame of settings, with which an agent begins.
    const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

    /// What is said of a call when the other end hears it, says this and goes.
    async fn said(answer: &'static [u8]) -> String {
        let (near, mut far) = UnixStream::pair().unwrap();
        let other_end = tokio::spawn(async move {
            far.write_all(SETTINGS).await.unwrap();
            // Up to the message of the call, five bytes of data on its stream.
            let is_message = |frame: &[u8]| frame.starts_with(&[0, 0, 5, 0]) && frame.ends_with(&[0, 0, 0, 1]);
            let mut heard = Vec::new();
            while !heard.windows(9).any(is_message) {
                far.read_buf(&mut heard).await.unwrap();
            }
            far.write_all(answer).await.unwrap();
            // It reads on: with bytes unread the end would be a reset.
            far.shutdown().await.unwrap();
            let _ = far.read_to_end(&mut heard).await;
        });
        let said = call(near, Keepalive::default()).await;
        other_end.abort();
        said
    }

    async fn call(near: UnixStream, keepalive: Keepalive) -> String {
        let channel = match channel(near, keepalive).await {
            Ok(channel) => channel,
            Err(error) => return error.to_string(),
        };
        let mut client = AgentClient::new(channel);
        match CallError::from(client.ping(v1::PingRequest { taken: 0 }).await.unwrap_err()) {
            CallError::Broken(text) => text,
            CallError::Refused(text) => format!("refused: {text}"),
        }
    }

    #[tokio::test]
    async fn every_end_of_a_connection_has_words() {
        for (answer, words) in [
            (&b""[..], "the other end has closed the connection; its log may say why"),
            (
                b"sh: brunt: not found, and some more of that kind\n",
                "what came over the connection is not the protocol of brunt (frame with invalid size): something else wrote into the stream",
            ),
            // GOAWAY, with no error and with one.
            (
                &[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                "the other end has given the connection up (not a result of an error); its log may say why",
            ),
            (
                &[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
                "the other end has given the connection up (unspecific protocol error detected); its log may say why",
            ),
            // RST_STREAM.
            (
                &[0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 2],
                "the other end has given the call up (unexpected internal error encountered); its log may say why",
            ),
        ] {
            assert_eq!(said(answer).await, words);
        }
    }

    #[tokio::test]
    async fn silence_has_words() {
        let (near, mut far) = UnixStream::pair().unwrap();
        far.write_all(SETTINGS).await.unwrap();
        let keepalive = Keepalive { interval: Duration::from_millis(50), timeout: Duration::from_millis(100) };
        let words = "probes of the connection had no answer: the other end hangs, or the network in between is broken";
        assert_eq!(call(near, keepalive).await, words);
    }

    #[tokio::test]
    async fn what_was_closed_before_has_words() {
        let (near, far) = UnixStream::pair().unwrap();
        drop(far);
        assert_eq!(call(near, Keepalive::default()).await, closed());
    }

    #[test]
    fn errors_of_the_system_have_words() {
        for (kind, words) in [
            (
                ErrorKind::ConnectionReset,
                "the connection was reset: the other end was killed, or something in between has cut it",
            ),
            (ErrorKind::TimedOut, "nothing came any more: the host or the network in between is down"),
            (ErrorKind::ConnectionRefused, "the connection was refused: nothing listens there"),
            (ErrorKind::HostUnreachable, "there is no way to the host (host unreachable)"),
            (ErrorKind::Other, "other error"),
        ] {
            assert_eq!(why(&io::Error::from(kind)), words);
        }
    }

    #[test]
    fn what_an_agent_says_itself_is_left_as_it_is() {
        let broken = |status| CallError::from(status);
        assert_eq!(broken(tonic::Status::unavailable("it hangs")), CallError::Broken("it hangs".to_owned()));
        assert_eq!(broken(tonic::Status::failed_precondition("no")), CallError::Refused("no".to_owned()));
        let other = "the other end does not know this call: install the same version of brunt on both";
        assert_eq!(broken(tonic::Status::unimplemented("")), CallError::Broken(other.to_owned()));
    }
}
