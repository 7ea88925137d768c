//! How many files this process may have open.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Reports, standard streams, the runtime and the pipes of an agent; a worker needs about as many.
const FEWEST: u64 = 64;

/// Raises the limit to the hard one where it is too low.
///
/// # Errors
/// It stays too low: a sentence with the cure. Without it whatever is opened last would fail.
pub fn make_room() -> Result<(), String> {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return Ok(()) };
    let raised = soft < FEWEST && hard > soft && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok();
    enough(if raised { hard } else { soft })
}

fn enough(limit: u64) -> Result<(), String> {
    if limit >= FEWEST {
        return Ok(());
    }
    Err(format!(
        "this process may have {limit} files open, and {FEWEST} are needed at least: raise the limit (ulimit -n 1024, \
         LimitNOFILE=1024 of a service, nofile in limits.conf)"
    ))
}
