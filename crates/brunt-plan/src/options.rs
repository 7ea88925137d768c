//! What the command line says about the plan.

use brunt_parm::ast::Repeat;

use crate::engine::Asked;

/// Options of the command line that change the plan (`docs/vdbench/raw.md` §2).
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// `-e`: seconds that override `elapsed=` of every RD; 0 overrides nothing.
    pub elapsed: Option<u32>,
    /// `-i`: seconds that override `interval=` of every RD; 0 overrides nothing.
    pub interval: Option<u32>,
    /// `-w`: seconds that override `warmup=` of every RD; 0 overrides nothing.
    pub warmup: Option<u32>,
    /// `-m`: workers of every host, overriding `jvms=`.
    pub workers: Option<u32>,
    /// `-r`: name of the first run to execute.
    pub restart_at: Option<String>,
    /// `-l`: repetition, overriding `loop=`.
    pub repeat: Option<Repeat>,
    /// `-cy`, `-cn`, `-co`: overrides `format=` of every RD.
    pub format: Option<ForcedFormat>,
    /// `--engine`: overrides `misc=(engine=…)`.
    pub engine: Option<Asked>,
    /// Seed of all random streams.
    pub seed: u64,
    /// Whether the program was called by the name `vdbench`.
    pub as_vdbench: bool,
    /// Whether 5.04.06 is imitated.
    pub compat_old: bool,
}

/// What `-c` with a letter makes of every `format=` (`docs/vdbench/filesystem.md` §3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForcedFormat {
    /// `-cy`.
    Yes,
    /// `-cn`.
    No,
    /// `-co`.
    Only,
}
