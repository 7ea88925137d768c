//! The keys of `misc=(key=value,…)`, the settings that Vdbench does not have (`docs/vdbench/decisions.md`). What their
//! values mean is decided where the plan is made.

/// All keys, without those of simulated devices. `fifo` is one of Vdbench that changes nothing here.
pub const KEYS: [&str; 17] = [
    "engine",
    "wait",
    "stamps",
    "cpu_latency",
    "cpus",
    "drain",
    "lease",
    "retry",
    "on_worker_loss",
    "hook_failure",
    "hook_limit",
    "allow_in_use",
    "overwrite",
    "identity",
    "become",
    "array_cache",
    "fifo",
];

/// A key of a simulated device, `sim.NAME.KEY`, in parts.
///
/// ```
/// assert_eq!(brunt_parm::misc::sim_key("sim.a.b.hit"), Some(("a.b", "hit")));
/// assert_eq!(brunt_parm::misc::sim_key("sim..hit"), None);
/// ```
pub fn sim_key(key: &str) -> Option<(&str, &str)> {
    key.strip_prefix("sim.")?.rsplit_once('.').filter(|(name, _)| !name.is_empty())
}

/// Whether there is such a key, as far as its name tells: those of a simulated device are checked with their values.
pub fn is_known(key: &str) -> bool {
    KEYS.contains(&key) || sim_key(key).is_some()
}
