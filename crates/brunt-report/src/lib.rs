//! Reports as pure functions of the event stream: console, Vdbench's files, events.ndjson.
//!
//! [`Reporter`] turns the records of `brunt-event` into [`Chunk`]s of text; [`Directory`] puts them where they belong.
//! Numbers are formatted here and nowhere else. What the files look like is in `docs/vdbench/reports.md`, what programs
//! rely on in `docs/vdbench/consumers.md`, the schema of `events.ndjson` in `docs/events.md`.
//!
//! | module | holds |
//! |---|---|
//! | `tally`, `figures` | sums over intervals, and the numbers made of them |
//! | `layout`, `flatfile`, `skew`, `histogram`, `latency`, `swat`, `optional` | what rows look like |
//! | `book`, `page`, `runs` | which files there are, their heads and links |
//! | `message`, `boxes`, `errors`, `status` | what is said, and where |
//! | `run`, `rows`, `execution`, `reporter` | what each event does |
//! | `plain` | text of others, which neither a terminal nor a page may obey |
//! | `own_error`, `calibration` | what the generator adds to a measurement |
//! | `directory` | the output directory, the only file I/O |

mod book;
mod boxes;
pub mod calibration;
mod chunk;
mod clock;
mod context;
mod directory;
mod engines;
mod errno;
mod errors;
mod execution;
mod figures;
mod flatfile;
mod histogram;
mod judged;
mod latency;
mod layout;
mod message;
mod number;
mod optional;
mod own_error;
mod page;
mod plain;
mod reporter;
mod rows;
mod run;
mod runs;
mod skew;
mod status;
mod swat;
mod tally;
mod usage;

pub use chunk::Chunk;
pub use directory::{Directory, OutputError, is_held};
pub use plain::plain;
pub use reporter::{CONSOLE, EVENTS, Reporter, TAKEOVER};
