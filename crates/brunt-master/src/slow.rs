//! Hosts that let the others wait: they are named, and not waited for for ever.

use std::future::Future;
use std::time::Duration;

use tokio::time::timeout;

use crate::link::{HostLink, LinkError};
use crate::session::Session;

/// Hosts that are named one by one.
const NAMED: usize = 8;

impl<L: HostLink> Session<'_, L> {
    /// Names hosts that have not answered after some time to what they were asked for.
    pub(crate) fn name_slow(&mut self, what: &str, hosts: &[usize], after: Duration, limit: Option<Duration>) {
        let (named, limit) = (self.labels(hosts), up_to(limit));
        let text = format!("{what}: no answer from {named} within {} seconds{limit}", after.as_secs());
        self.notice(true, "slow-host", text);
    }

    /// Names a command on this machine that has not ended after some time.
    pub(crate) fn name_slow_here(&mut self, what: &str, command: &str, after: Duration, limit: Option<Duration>) {
        let (after, limit) = (after.as_secs(), up_to(limit));
        let text = format!("{what}: `{command}` has not ended on the master within {after} seconds{limit}");
        self.notice(true, "slow-hook", text);
    }

    /// Hosts for a message: the first ones, and how many more.
    pub(crate) fn labels(&self, hosts: &[usize]) -> String {
        let labels = hosts.iter().take(NAMED).map(|host| format!("host={}", self.layout.host_label(*host)));
        let mut named = labels.collect::<Vec<_>>().join(", ");
        if hosts.len() > NAMED {
            named.push_str(&format!(" and {} more", hosts.len() - NAMED));
        }
        named
    }
}

fn up_to(limit: Option<Duration>) -> String {
    limit.map_or_else(String::new, |limit| format!("; waiting for up to {} seconds", limit.as_secs()))
}

/// A call that fails when it takes too long.
pub(crate) async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, LinkError>>,
) -> Result<T, LinkError> {
    let silent = || LinkError::Broken(format!("nothing came within {} seconds", limit.as_secs()));
    timeout(limit, call).await.unwrap_or_else(|_| Err(silent()))
}
