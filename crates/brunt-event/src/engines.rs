//! What serves the I/Os of each SD.

use serde::{Deserialize, Serialize};

/// SDs of one host that have the same back end for the same reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineChoice {
    /// Index in [`Planned::hosts`](crate::Planned::hosts).
    pub host: u32,
    /// `sync`, `aio`, `uring`, `sim` or `null`.
    pub backend: String,
    /// Why, the end of a sentence.
    pub why: String,
    /// Indices in [`Planned::sds`](crate::Planned::sds), in order.
    pub sds: Vec<u32>,
}
