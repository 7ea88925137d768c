//! What an agent behind a listener tells it once a second, over what was its standard output: that it lives, whom it
//! serves since when, and what its lease is. An agent that hangs can say nothing of that any more.

use std::fmt;
use std::fs::File;
use std::io;
use std::str::FromStr;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::time::sleep;

use super::stdio;

/// From one sign to the next.
const EVERY: Duration = Duration::from_secs(1);

/// A sign of life, a line of text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sign {
    /// The lease that is in force.
    pub lease: Duration,
    /// What of the session's token is no secret.
    pub session: String,
    /// Who is served, and since when, of the wall clock.
    pub client: Option<(String, Duration)>,
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.lease.as_millis(), self.session)?;
        match &self.client {
            Some((name, since)) => write!(f, " {} {}", since.as_secs(), name.replace(char::is_control, "\u{fffd}")),
            None => Ok(()),
        }
    }
}

impl FromStr for Sign {
    type Err = std::num::ParseIntError;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        let mut words = line.splitn(4, ' ');
        let lease = Duration::from_millis(words.next().unwrap_or_default().parse()?);
        let session = words.next().unwrap_or_default().to_owned();
        let client = match (words.next(), words.next()) {
            (Some(since), Some(name)) => Some((name.to_owned(), Duration::from_secs(since.parse()?))),
            _ => None,
        };
        Ok(Self { lease, session, client })
    }
}

/// Writes the first line, and from then on signs, as long as somebody takes them.
///
/// # Errors
/// Nobody takes the first line, or there is no asynchronous writer.
pub fn give(mut output: File, first_line: &str, sign: impl Fn() -> Sign + Send + 'static) -> io::Result<()> {
    stdio::say(&mut output, first_line)?;
    let mut output = stdio::writer(output.into())?;
    tokio::spawn(async move {
        // The listener may go before its agent does.
        while output.write_all(format!("{}\n", sign()).as_bytes()).await.is_ok() {
            sleep(EVERY).await;
        }
    });
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_lines() {
        let free = Sign { lease: Duration::ZERO, session: "ab".to_owned(), client: None };
        let client = Some(("root@lab1, process 7".to_owned(), Duration::from_secs(1_800_000_000)));
        let busy = Sign { lease: Duration::from_secs(30), client, ..free.clone() };
        assert_eq!(busy.to_string(), "30000 ab 1800000000 root@lab1, process 7");
        for sign in [free, busy] {
            assert_eq!(sign.to_string().parse::<Sign>(), Ok(sign));
        }
        let odd = Sign { client: Some(("a\nb".to_owned(), Duration::ZERO)), ..Sign::default() };
        assert_eq!(odd.to_string(), "0  0 a\u{fffd}b");
        assert!("BRUNT".parse::<Sign>().is_err() && "".parse::<Sign>().is_err());
    }
}
