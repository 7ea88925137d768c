//! The arguments of `brunt agent` and `brunt worker`.

use std::path::PathBuf;

use brunt_proto::stdio::Keepalive;

use super::cores;
use super::listen::ListenOptions;

/// How an agent is to be.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// Label of the host; of the worker for `brunt worker`. Empty: the client says it.
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
    /// Where connections come, instead of over the standard streams.
    pub socket: Option<PathBuf>,
}

/// What an agent is to do.
#[derive(Debug, Clone)]
pub enum AgentCommand {
    /// Serve a client.
    Serve(AgentOptions),
    /// Be the bridge to an agent that serves one.
    Attach {
        /// The client's marker.
        marker: String,
    },
    /// Take connections from the network.
    Listen(ListenOptions),
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

/// What was read so far.
#[derive(Debug, Default)]
struct Words {
    stdio: bool,
    attach: bool,
    listen: Option<String>,
    socket: Option<PathBuf>,
    marker: Option<String>,
    label: Option<String>,
    workers: Option<u32>,
    cores: Vec<usize>,
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
    ca: Option<PathBuf>,
}

impl AgentCommand {
    /// Reads the arguments behind the word `agent` or `worker`, one of:
    ///
    /// - `--stdio --marker HEX --label NAME [--workers N] [--cores 0-3,8]`
    /// - `--socket PATH --marker HEX [--cores LIST]`, which only an agent that listens uses
    /// - `--attach --marker HEX`
    /// - `--listen ADDRESS:PORT --cert FILE --key FILE --ca FILE [--cores LIST]`
    ///
    /// # Errors
    /// See [`OptionsError`].
    pub fn from_args(args: impl IntoIterator<Item = String>) -> Result<Self, OptionsError> {
        let program = std::env::current_exe().map_err(|error| OptionsError::Program(error.to_string()))?;
        let words = Words::read(args)?;
        if let Some(address) = words.listen {
            return Ok(Self::Listen(ListenOptions {
                address,
                cert: words.cert.ok_or(OptionsError::Missing("--cert"))?,
                key: words.key.ok_or(OptionsError::Missing("--key"))?,
                ca: words.ca.ok_or(OptionsError::Missing("--ca"))?,
                cores: words.cores,
                program,
            }));
        }
        if !words.stdio && !words.attach && words.socket.is_none() {
            return Err(OptionsError::Missing("--stdio"));
        }
        let marker = words.marker.ok_or(OptionsError::Missing("--marker"))?;
        if words.attach {
            return Ok(Self::Attach { marker });
        }
        if words.label.is_none() && words.socket.is_none() {
            return Err(OptionsError::Missing("--label"));
        }
        Ok(Self::Serve(AgentOptions {
            label: words.label.unwrap_or_default(),
            workers: words.workers.unwrap_or(1),
            marker,
            cores: words.cores,
            program,
            keepalive: Keepalive::default(),
            socket: words.socket,
        }))
    }
}

impl Words {
    fn read(args: impl IntoIterator<Item = String>) -> Result<Self, OptionsError> {
        const VALUED: [&str; 9] =
            ["--marker", "--label", "--workers", "--cores", "--socket", "--listen", "--cert", "--key", "--ca"];
        let mut words = Self::default();
        let mut args = args.into_iter();
        while let Some(name) = args.next() {
            match name.as_str() {
                "--stdio" => words.stdio = true,
                "--attach" => words.attach = true,
                known if VALUED.contains(&known) => {
                    let Some(value) = args.next() else { return Err(OptionsError::NoValue(name)) };
                    words.set(name, value)?;
                }
                _ => return Err(OptionsError::Unknown(name)),
            }
        }
        Ok(words)
    }

    fn set(&mut self, name: String, value: String) -> Result<(), OptionsError> {
        match name.as_str() {
            "--marker" => self.marker = Some(value),
            "--label" => self.label = Some(value),
            "--socket" => self.socket = Some(value.into()),
            "--listen" => self.listen = Some(value),
            "--cert" => self.cert = Some(value.into()),
            "--key" => self.key = Some(value.into()),
            "--ca" => self.ca = Some(value.into()),
            "--workers" => match value.parse() {
                Ok(workers) if workers > 0 => self.workers = Some(workers),
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
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<AgentCommand, OptionsError> {
        AgentCommand::from_args(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn arguments_are_read() {
        let line = "--stdio --label hosta --workers 3 --marker ff00 --cores 0-1,3";
        let AgentCommand::Serve(options) = parse(line).unwrap() else { panic!("{line}") };
        assert_eq!((options.label.as_str(), options.workers, options.marker.as_str()), ("hosta", 3, "ff00"));
        assert_eq!((options.cores, options.socket), (vec![0, 1, 3], None));
        let AgentCommand::Serve(options) = parse("--socket /run/x --marker ff00").unwrap() else { panic!() };
        assert_eq!((options.label.as_str(), options.socket), ("", Some("/run/x".into())));
        let AgentCommand::Attach { marker } = parse("--attach --marker ff00").unwrap() else { panic!() };
        assert_eq!(marker, "ff00");
        let line = "--listen 0.0.0.0:5570 --cert c --key k --ca a";
        let AgentCommand::Listen(options) = parse(line).unwrap() else { panic!("{line}") };
        assert_eq!((options.address.as_str(), options.ca), ("0.0.0.0:5570", PathBuf::from("a")));
    }

    #[test]
    fn wrong_arguments_are_named() {
        let wrong = |line| parse(line).unwrap_err().to_string();
        assert_eq!(wrong("--label a --marker b"), "`--stdio` is missing");
        assert_eq!(wrong("--stdio --marker b"), "`--label` is missing");
        assert_eq!(wrong("--attach"), "`--marker` is missing");
        assert_eq!(wrong("--listen 0.0.0.0:5570 --cert c --ca a"), "`--key` is missing");
        assert_eq!(wrong("--stdio --label"), "`--label` needs a value");
        assert_eq!(wrong("--workers 0"), "`--workers` cannot have the value `0`");
        assert_eq!(wrong("--cores 3-1"), "`--cores` cannot have the value `3-1`");
        assert_eq!(wrong("--port 1"), "unknown argument `--port`");
    }
}
