//! The bridge from the standard streams of this process to an agent that goes on alone.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use tokio::io::{AsyncRead, AsyncWrite, copy};

use super::{AgentError, meeting, stdio};
use crate::agent::thread::off_thread;

/// Longest first line that is read, bytes: more than a token has.
const LONGEST: usize = 1024;

/// Reads a token from the first line of standard input (an argument could be seen by everybody), writes the marker's
/// line, and passes bytes on until either side ends.
///
/// # Errors
/// The session is not here.
pub async fn bridge_stdio(marker_line: &str) -> Result<(), AgentError> {
    let (input, output) = stdio::take().map_err(AgentError::Stdio)?;
    let read = off_thread("token", move || first_line(input)).await.and_then(|read| read);
    let (token, input) = read.map_err(AgentError::Stdio)?;
    let agent = meeting::join(token.trim()).await?;
    let (input, output) = stdio::open(input, output, marker_line).map_err(AgentError::Stdio)?;
    bridge(tokio::io::join(input, output), agent).await;
    Ok(())
}

/// Reads one line and not a byte more: the protocol comes behind it.
fn first_line(input: OwnedFd) -> io::Result<(String, OwnedFd)> {
    let mut input = File::from(input);
    let (mut line, mut byte) = (Vec::new(), [0]);
    while line.len() < LONGEST && input.read(&mut byte)? == 1 && byte != *b"\n" {
        line.extend(byte);
    }
    Ok((String::from_utf8_lossy(&line).into_owned(), input.into()))
}

/// Passes bytes on in both directions until one side ends.
pub async fn bridge(client: impl AsyncRead + AsyncWrite, agent: impl AsyncRead + AsyncWrite) {
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_agent, mut to_agent) = tokio::io::split(agent);
    // An error is an end as well.
    tokio::select! {
        _ = copy(&mut from_client, &mut to_agent) => {}
        _ = copy(&mut from_agent, &mut to_client) => {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[test]
    fn the_first_line_is_all_that_is_taken() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"token\nPRI *").unwrap();
        drop(writer);
        let (line, rest) = first_line(reader.into()).unwrap();
        assert_eq!(line, "token");
        let mut left = String::new();
        File::from(rest).read_to_string(&mut left).unwrap();
        assert_eq!(left, "PRI *");
    }

    #[tokio::test]
    async fn bytes_pass_until_one_side_ends() {
        let (mut client, near) = tokio::io::duplex(16);
        let (far, mut agent) = tokio::io::duplex(16);
        let bridge = tokio::spawn(bridge(near, far));
        client.write_all(b"to").await.unwrap();
        agent.write_all(b"fro").await.unwrap();
        let mut both = ([0; 2], [0; 3]);
        agent.read_exact(&mut both.0).await.unwrap();
        client.read_exact(&mut both.1).await.unwrap();
        assert_eq!(both, (*b"to", *b"fro"));
        drop(agent);
        bridge.await.unwrap();
        assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
    }
}
