//! What is within a limit, what is refused, and in which words.
#![allow(clippy::unwrap_used)]

use super::super::needs::{self, tests as made};
use super::*;
use brunt_plan::work::Backend;

const MIB: u64 = 1 << 20;

fn needs(backend: Backend, sds: usize, threads: u32) -> Needs {
    needs::of(&made::share("a-0", vec![made::target(backend, threads); sds], 100.0, 8192), 2)
}

fn room(of: &str, limit: u64, used: u64) -> Room {
    Room { of: of.into(), limit, used, cure: format!("sysctl {of}={{}}") }
}

fn refused(workers: &[(&str, Needs)], limits: &Limits) -> String {
    check("a", workers, limits).unwrap_err()
}

#[test]
fn what_is_within_is_allowed() {
    let of = needs(Backend::Uring, 4, 8);
    assert_eq!(check("a", &[("a-0", of)], &Limits::default()), Ok(vec![]));
    let limits = Limits {
        files: Some(of.files),
        space: Some(room("ulimit -v", of.space + 5, 5)),
        mappings: Some(room("vm.max_map_count", 10, 10)),
        locked: Some(of.locked),
        threads: vec![room("kernel.pid_max", of.threads + 7, 7)],
        aio: Some(room("fs.aio-max-nr", 0, 0)),
        memory: vec![room("MemAvailable", of.memory * 2, 0)],
    };
    assert_eq!(check("a", &[("a-0", of)], &limits), Ok(vec![]));
}

#[test]
fn files_of_the_worker_that_has_too_many() {
    let limits = Limits { files: Some(1024), ..Limits::default() };
    let workers = [("a-0", needs(Backend::Sync, 993, 1)), ("a-1", needs(Backend::Sync, 994, 1))];
    assert_eq!(check("a", &workers[..1], &limits), Ok(vec![]), "a process each");
    insta::assert_snapshot!(refused(&workers, &limits), @"worker a-1 needs 1025 open files, 994 of them luns, and its hard limit is 1024; raise it (ulimit -Hn 1025, LimitNOFILE=1025 of a service, nofile in limits.conf) or use more hosts or jvms=");
}

#[test]
fn threads_and_events_of_all_workers_together() {
    let (sync, aio) = (needs(Backend::Sync, 1, 400), needs(Backend::Aio, 1, 400));
    let limits = Limits {
        threads: vec![room("kernel.threads-max", 10_000, 100), room("pids.max", 1000, 200)],
        aio: Some(room("fs.aio-max-nr", 1000, 300)),
        ..Limits::default()
    };
    assert_eq!(check("a", &[("a-0", sync), ("a-1", aio)], &limits), Ok(vec![]));
    insta::assert_snapshot!(refused(&[("a-0", sync), ("a-1", sync)], &limits), @"host a needs 816 threads, 200 are in use and pids.max is 1000; sysctl pids.max=1016");
    insta::assert_snapshot!(refused(&[("a-0", aio), ("a-1", aio)], &limits), @"host a needs 800 events of Linux AIO, 300 are in use and fs.aio-max-nr is 1000; sysctl fs.aio-max-nr=1100");
}

#[test]
fn address_space_and_mappings_of_a_process() {
    let of = needs(Backend::Sync, 1, 1000);
    let limits = Limits { space: Some(room("ulimit -v", 100 * MIB, 20 * MIB)), ..Limits::default() };
    insta::assert_snapshot!(refused(&[("a-0", of)], &limits), @"worker a-0 needs 197.8 MiB of address space for 1000 threads, and 80.0 MiB of 100.0 MiB are left (ulimit -v); sysctl ulimit -v=222980");
    let limits = Limits { mappings: Some(room("vm.max_map_count", 2050, 100)), ..Limits::default() };
    insta::assert_snapshot!(refused(&[("a-0", of)], &limits), @"worker a-0 needs 2000 mappings of memory, 100 are in use and vm.max_map_count is 2050; sysctl vm.max_map_count=2100");
}

#[test]
fn memory_that_is_tight_is_a_warning_and_what_cannot_fit_is_refused() {
    let of = Needs { buffers: 70 * MIB, memory: 81 * MIB, lanes: 5, ..Needs::default() };
    let limits = |limit| Limits { memory: vec![room("MemAvailable", limit, 50 * MIB)], ..Limits::default() };
    assert_eq!(check("a", &[("a-0", of)], &limits(152 * MIB)), Ok(vec![]));
    let tight = check("a", &[("a-0", of)], &limits(150 * MIB)).map(|all| all.join("\n"));
    insta::assert_snapshot!(tight.unwrap_or_default(), @"host a needs 81.0 MiB of the 100.0 MiB of memory that can be had (MemAvailable): what is short may be swapped out, and the page cache is gone");
    insta::assert_snapshot!(refused(&[("a-0", of)], &limits(130 * MIB)), @"host a needs 81.0 MiB of memory for 5 threads, 70.0 MiB of it for buffers, and 80.0 MiB can be had (MemAvailable); sysctl MemAvailable=137363456");
}

#[test]
fn buffers_that_cannot_be_locked_are_a_warning() {
    let of = needs(Backend::Uring, 1, 32);
    let limits = Limits { locked: Some(64 << 10), ..Limits::default() };
    let told = check("a", &[("a-0", of)], &limits).map(|all| all.join("\n"));
    insta::assert_snapshot!(told.unwrap_or_default(), @"host a has 256.0 KiB of buffers for io_uring and may lock 64.0 KiB of memory: without registered buffers an I/O costs more CPU; raise the limit (ulimit -Hl 256, LimitMEMLOCK=256K of a service, memlock in limits.conf)");
    assert_eq!(check("a", &[("a-0", needs(Backend::Aio, 1, 32))], &limits), Ok(vec![]));
}

#[test]
fn a_million_million_threads_are_refused() {
    let of = needs(Backend::Sync, 1, u32::MAX);
    let limits = Limits {
        threads: vec![room("kernel.pid_max", 4_194_304, 500)],
        memory: vec![room("MemAvailable", 24 << 30, 0)],
        ..Limits::default()
    };
    insta::assert_snapshot!(refused(&[("a-0", of)], &limits), @"host a needs 4294967303 threads, 500 are in use and kernel.pid_max is 4194304; Linux has never more than 4194304: use fewer threads=; host a needs 165888.0 GiB of memory for 4294967295 threads, 32768.0 GiB of it for buffers, and 24.0 GiB can be had (MemAvailable); sysctl MemAvailable=178120883658240");
}
