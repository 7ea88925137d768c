//! The agent's and the worker's side of the program, started by a master or an agent, never by hand.

use std::ffi::OsString;
use std::io::{self, Write};

use crate::exit;
