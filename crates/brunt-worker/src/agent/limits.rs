//! The limit of open files: each lun is one.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Files that a worker may open besides its luns: streams, pipes to children, `/proc`.
const SPARE: u64 = 64;

/// Raises the soft limit to the hard one, which needs no privilege.
pub fn raise() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(soft, hard)| match soft < hard {
        true => setrlimit(Resource::RLIMIT_NOFILE, hard, hard),
        false => Ok(()),
    });
    if let Err(errno) = raised {
        tracing::debug!(%errno, "the limit of open files stays");
    }
}

/// Whether so many luns can be opened.
///
/// # Errors
/// A sentence that names the numbers and the cure.
pub fn check(worker: &str, luns: usize) -> Result<(), String> {
    // What cannot be asked is left to the opens, which say so themselves.
    let Ok((soft, _)) = getrlimit(Resource::RLIMIT_NOFILE) else { return Ok(()) };
    within(worker, luns as u64, soft)
}

fn within(worker: &str, luns: u64, limit: u64) -> Result<(), String> {
    let needed = luns.saturating_add(SPARE);
    if needed <= limit {
        return Ok(());
    }
    Err(format!(
        "worker {worker} needs {needed} open files, {luns} of them luns, and its hard limit is {limit}; raise it \
         (ulimit -Hn, LimitNOFILE= of a service, limits.conf) or use more hosts or jvms="
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        raise();
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        assert_eq!(soft, hard);
        assert_eq!(check("a-0", 1), Ok(()));
    }

    #[test]
    fn too_many_luns_are_refused_with_numbers_and_cure() {
        assert_eq!(within("a-0", 960, 1024), Ok(()));
        let text = within("a-0", 961, 1024).unwrap_err();
        assert!(
            text.starts_with(
                "worker a-0 needs 1025 open files, 961 of them luns, and its hard limit is 1024; raise it"
            )
        );
    }
}
