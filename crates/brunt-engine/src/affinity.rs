//! Binding threads to CPUs, of any number: the sets of libc and nix end at 1023.

use std::io;

const BITS: usize = u64::BITS as usize;

/// Binds the calling thread to CPUs, by their numbers.
///
/// # Errors
/// EINVAL when none of them exists or may be used (sched_setaffinity(2)).
pub fn bind(cpus: &[usize]) -> io::Result<()> {
    let words = cpus.iter().max().map_or(1, |last| last / BITS + 1);
    // Never less than libc's own type, of which a pointer is asked for.
    let mut mask = vec![0u64; words.max(size_of::<libc::cpu_set_t>() / size_of::<u64>())];
    for cpu in cpus {
        if let Some(word) = mask.get_mut(cpu / BITS) {
            *word |= 1 << (cpu % BITS);
        }
    }
    // SAFETY: the kernel reads `size_of_val(mask)` bytes of the mask, which are there and initialised; the pointer is
    // aligned, since `cpu_set_t` is made of words of 64 bits. 0 is the calling thread.
    let failed = unsafe { libc::sched_setaffinity(0, size_of_val(mask.as_slice()), mask.as_ptr().cast()) };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// As in `/proc/thread-self/status`, which has room for any number of CPUs.
    fn mine() -> String {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        line.unwrap().trim().to_owned()
    }

    #[test]
    fn a_thread_is_bound_to_the_cpus_that_there_are() {
        std::thread::spawn(|| {
            let before = mine();
            let first: usize = before.split([',', '-']).next().unwrap().parse().unwrap();
            // One that no machine has is no harm beside one that there is.
            bind(&[first, 5000]).unwrap();
            assert_eq!(mine(), first.to_string());
            let errno = bind(&[5000]).unwrap_err().raw_os_error();
            assert_eq!((errno, mine()), (Some(libc::EINVAL), first.to_string()));
        })
        .join()
        .unwrap();
    }
}
