//! How a lease is kept: whoever gives one shows several times in it that he is there.

use std::time::Duration;

/// From one ping to the next, where the lease is not shorter than some of them.
const PING_EVERY: Duration = Duration::from_secs(1);

/// From one ping to the next: four in a short lease, so that one that is late does not end the work.
pub fn ping_every(lease: Duration) -> Duration {
    if lease.is_zero() { PING_EVERY } else { PING_EVERY.min(lease / 4) }
}
