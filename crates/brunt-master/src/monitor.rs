//! The files by which somebody outside can ask for an early end (`docs/vdbench/raw.md` §8.9).

use std::io;
use std::path::{Path, PathBuf};

use brunt_event::EndScope;

/// Watches `monitor=` and `/tmp/vdbench.shutdown.<pid>`. Both are the master's own files.
#[derive(Debug)]
pub(crate) struct Monitor {
    file: Option<PathBuf>,
    shutdown: PathBuf,
}

impl Monitor {
    /// Empties the monitor file, making it when there is none.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn start(file: Option<&str>, shutdown: &Path) -> io::Result<Self> {
        if let Some(file) = file {
            std::fs::write(file, "")?;
        }
        Ok(Self { file: file.map(PathBuf::from), shutdown: shutdown.to_owned() })
    }

    /// Whether an end is asked for. The monitor file is emptied again when it is; one that cannot be read asks for
    /// nothing.
    pub(crate) fn poll(&self) -> Option<EndScope> {
        if self.shutdown.exists() {
            return Some(EndScope::Execution);
        }
        let file = self.file.as_ref()?;
        let text = std::fs::read_to_string(file).ok()?;
        let scope = scope(text.lines().next()?)?;
        if let Err(error) = std::fs::write(file, "") {
            tracing::warn!(%error, file = %file.display(), "monitor file cannot be emptied");
        }
        Some(scope)
    }
}

fn scope(line: &str) -> Option<EndScope> {
    match line.trim().to_ascii_lowercase().as_str() {
        "end_rd" | "shutdown" => Some(EndScope::Run),
        "end_vdbench" | "terminate" => Some(EndScope::Execution),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_monitor_file() {
        for (line, expected) in [
            ("end_rd", Some(EndScope::Run)),
            ("Shutdown ", Some(EndScope::Run)),
            ("END_VDBENCH", Some(EndScope::Execution)),
            ("terminate", Some(EndScope::Execution)),
            ("end", None),
            ("", None),
        ] {
            assert_eq!(scope(line), expected, "{line}");
        }
    }

    #[test]
    fn only_the_first_line_counts_and_the_file_is_emptied() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mon");
        std::fs::write(&file, "end_rd").unwrap();
        let monitor = Monitor::start(file.to_str(), &dir.path().join("shutdown.1")).unwrap();
        assert_eq!(monitor.poll(), None, "emptied at the start");
        std::fs::write(&file, "\nend_rd\n").unwrap();
        assert_eq!(monitor.poll(), None);
        std::fs::write(&file, "End_RD\nend_vdbench\n").unwrap();
        assert_eq!(monitor.poll(), Some(EndScope::Run));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "");
        assert_eq!(monitor.poll(), None);
        std::fs::write(dir.path().join("shutdown.1"), "").unwrap();
        assert_eq!(monitor.poll(), Some(EndScope::Execution));
    }
}
