//! The arguments of `brunt agent` and `brunt worker`.

use std::path::PathBuf;

use brunt_proto::stdio::Keepalive;

use super::cores;

/// How an agent is to be.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// Label of the host; of the worker for `brunt worker`.
    pub label: String,
    /// Number of workers, at least 1.
    pub workers: u32,
    /// The client's marker, see [`brunt_proto::stdio`].
    pub marker: String,
    /// Cores that the engine may use; empty: those of this process.
    pub cores: Vec<usize>,
    /// The program that is started as `PROGRAM worker …` for each worker when there are several.
    pub program: PathBuf,
    /// Probes on a silent connection.
    pub keepalive: Keepalive,
}

/// An argument that is wrong or missing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// An argument nobody knows.
    #[error("unknown argument `{0}`")]
    Unknown(String),
    /// An argument without its value.
    #[error("`{0}` needs a value")]
    NoValue(String),
    /// A value that cannot be.
    #[error("`{0}` cannot have the value `{1}`")]
    Value(String, String),
    /// An argument that must be there.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// The path of this program cannot be found.
    #[error("the path of this program cannot be found: {0}")]
    Program(String),
}

impl AgentOptions {
    /// Reads the arguments behind the word `agent` or `worker`:
    /// `--stdio --marker HEX --label NAME [--workers N] [--cores 0-3,8]`.
    ///
    /// # Errors
    /// See [`OptionsError`].
    pub fn from_args(args: impl IntoIterator<Item = String>) -> Result<Self, OptionsError> {
        let program = std::env::current_exe().map_err(|error| OptionsError::Program(error.to_string()))?;
        let mut options = Self {
            label: String::new(),
            workers: 1,
            marker: String::new(),
            cores: Vec::new(),
            program,
            keepalive: Keepalive::default(),
        };
        let mut stdio = false;
        let mut args = args.into_iter();
        while let Some(name) = args.next() {
            if name == "--stdio" {
                stdio = true;
                continue;
            }
            if !["--marker", "--label", "--workers", "--cores"].contains(&name.as_str()) {
                return Err(OptionsError::Unknown(name));
            }
            let Some(value) = args.next() else { return Err(OptionsError::NoValue(name)) };
            options.set(name, value)?;
        }
        match (stdio, options.marker.is_empty(), options.label.is_empty()) {
            (false, ..) => Err(OptionsError::Missing("--stdio")),
            (_, true, _) => Err(OptionsError::Missing("--marker")),
            (.., true) => Err(OptionsError::Missing("--label")),
            _ => Ok(options),
        }
    }

    fn set(&mut self, name: String, value: String) -> Result<(), OptionsError> {
        match name.as_str() {
            "--marker" => self.marker = value,
            "--label" => self.label = value,
            "--workers" => match value.parse() {
                Ok(workers) if workers > 0 => self.workers = workers,
                _ => return Err(OptionsError::Value(name, value)),
            },
            _ => match cores::parse(&value) {
                Some(cores) => self.cores = cores,
                None => return Err(OptionsError::Value(name, value)),
            },
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<AgentOptions, OptionsError> {
        AgentOptions::from_args(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn arguments_are_read() {
        let options = parse("--stdio --label hosta --workers 3 --marker ff00 --cores 0-1,3").unwrap();
        assert_eq!((options.label.as_str(), options.workers, options.marker.as_str()), ("hosta", 3, "ff00"));
        assert_eq!(options.cores, [0, 1, 3]);
    }

    #[test]
    fn wrong_arguments_are_named() {
        assert_eq!(parse("--label a --marker b").unwrap_err().to_string(), "`--stdio` is missing");
        assert_eq!(parse("--stdio --label").unwrap_err().to_string(), "`--label` needs a value");
        assert_eq!(parse("--workers 0").unwrap_err().to_string(), "`--workers` cannot have the value `0`");
        assert_eq!(parse("--cores 3-1").unwrap_err().to_string(), "`--cores` cannot have the value `3-1`");
        assert_eq!(parse("--port 1").unwrap_err().to_string(), "unknown argument `--port`");
    }
}
