//! Lines of a stream that may hold anything: any bytes, any length.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// Longest line that is kept whole, bytes. Of a longer one the end is kept.
pub const LONGEST: usize = 16 << 10;

/// Reads the next line without its end. `None` at the end of the stream. Memory is bounded whatever comes.
///
/// # Errors
/// Those of the stream.
pub async fn next_line<R: AsyncBufRead + Unpin>(reader: &mut R) -> io::Result<Option<String>> {
    let mut line: Vec<u8> = Vec::new();
    let mut any = false;
    loop {
        let chunk = reader.fill_buf().await?;
        if chunk.is_empty() {
            return Ok(any.then(|| text(&line)));
        }
        any = true;
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(chunk.len());
        line.extend(chunk.iter().take(taken));
        reader.consume(taken + usize::from(end.is_some()));
        if line.len() > LONGEST {
            line.drain(..line.len() - LONGEST);
        }
        if end.is_some() {
            return Ok(Some(text(&line)));
        }
    }
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tokio::io::BufReader;

    async fn lines(bytes: &[u8]) -> Vec<String> {
        // A buffer of 3 bytes, so that lines lie across its ends.
        let mut reader = BufReader::with_capacity(3, bytes);
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut reader).await.unwrap() {
            lines.push(line);
        }
        lines
    }

    #[tokio::test]
    async fn lines_come_whole() {
        assert_eq!(lines(b"one\ntwo two\r\n\nlast").await, ["one", "two two", "", "last"]);
        assert_eq!(lines(b"").await, [""; 0]);
    }

    #[tokio::test]
    async fn what_is_not_text_is_marked() {
        assert_eq!(lines(b"a\xffb\n").await, ["a\u{fffd}b"]);
    }

    #[tokio::test]
    async fn an_endless_line_keeps_its_end() {
        let mut bytes = vec![b'x'; 3 * LONGEST];
        bytes.extend(b"end\n");
        let lines = lines(&bytes).await;
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].len(), LONGEST);
        assert!(lines[0].ends_with("xend"));
    }
}
