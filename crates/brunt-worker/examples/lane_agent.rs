//! The agent and the worker of the product without the rest of the program, for the tests of the control path.

use std::process::ExitCode;

use brunt_worker::agent::{AgentCommand, run};

#[allow(clippy::print_stderr)]
fn main() -> ExitCode {
    let served = match AgentCommand::from_args(std::env::args().skip(2)) {
        Ok(command) => run(command).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
