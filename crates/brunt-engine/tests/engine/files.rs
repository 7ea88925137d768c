//! Real files, in memory and on the disk of the working directory, through each back end.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use brunt_plan::work::{Area, Backend, Generator, IoErrorKind, OpenFlag, Seek, Target, WorkerEvent, Wrap, Xfer};
use tempfile::NamedTempFile;

use crate::harness::*;

/// A file and what serves it.
struct Lun {
    file: NamedTempFile,
    backend: Backend,
}

impl Deref for Lun {
    type Target = NamedTempFile;

    fn deref(&self) -> &NamedTempFile {
        &self.file
    }
}

impl DerefMut for Lun {
    fn deref_mut(&mut self) -> &mut NamedTempFile {
        &mut self.file
    }
}

/// The back ends for files that work here, `sync` first.
fn backends() -> Vec<Backend> {
    let support = brunt_engine::support::support();
    let mut all = vec![Backend::Sync];
    for (backend, why_not) in [(Backend::Aio, support.no_aio), (Backend::Uring, support.no_uring)] {
        match why_not {
            None => all.push(backend),
            Some(_) if crate::confined::is_confined() => {}
            Some(why) => crate::media::skip(&why),
        }
    }
    all
}

/// A filled file in memory and one on disk, for each back end.
fn files(size: u64) -> Vec<Lun> {
    let folders = [PathBuf::from("/dev/shm"), PathBuf::from(env!("CARGO_TARGET_TMPDIR"))];
    let make = |folder: &PathBuf, backend| {
        let mut file = NamedTempFile::new_in(folder).unwrap();
        let block: Vec<u8> = (0..64 * K).map(|n| n as u8 | 1).collect();
        (0..size / (64 * K)).for_each(|_| file.write_all(&block).unwrap());
        Lun { file, backend }
    };
    let folders: Vec<_> = folders.into_iter().filter(|f| f.is_dir()).collect();
    backends().into_iter().flat_map(|b| folders.iter().map(move |f| make(f, b))).collect()
}

fn target(file: &Lun, threads: u32, size: u64) -> Target {
    Target { backend: file.backend, ..crate::harness::file(0, threads, file.path().to_str().unwrap(), size) }
}

/// As it is and with O_DIRECT, where the file system has it (tmpfs since Linux 6.6).
fn both_ways(target: Target) -> Vec<Target> {
    let mut direct = vec![direct(target.clone())];
    direct.retain(|t| {
        let s = share(Some(1), vec![t.clone()], vec![generator(0)]);
        brunt_engine::Engine::prepare(s, Default::default(), Box::new(|_| ())).map(drop).is_ok()
    });
    direct.push(target);
    direct
}

fn eof(size: u64, xfer: u64, read_pct: f64) -> Generator {
    let xfer = Xfer::Fixed(xfer);
    Generator { seek: Seek::Eof, xfer, miss: area(0, size), read_pct, ..generator(0) }
}

#[test]
fn a_file_is_read_to_its_end_once_over_several_lanes() {
    let size = 4 * M;
    for file in files(size) {
        for target in both_ways(target(&file, 5, size)) {
            let told = run_to_eof(share(None, vec![target], vec![eof(size, 8 * K, 100.0)]));
            let read = told.cell(|_| true).read;
            assert_eq!((read.ops, read.bytes, read.errors), (512, size, 0));
            assert_eq!(told.reads().count(), 512);
            assert!(told.failures.is_empty() && read.min_ns > 0);
        }
    }
}

#[test]
fn a_new_file_is_written_to_its_end_with_different_sectors() {
    let size = 2 * M + 24 * K;
    for old in files(0) {
        let direct = both_ways(target(&old, 1, M)).len() > 1;
        for flags in
            [vec![OpenFlag::Sync, OpenFlag::Fsync], vec![OpenFlag::Direct]].into_iter().take(1 + usize::from(direct))
        {
            let path = old.path().with_extension("new");
            let mut target = target(&old, 3, size);
            (target.lun, target.write, target.create) = (path.to_str().unwrap().into(), true, true);
            target.flags = flags;
            let told = run_to_eof(share(None, vec![target], vec![eof(size, 64 * K, 0.0)]));
            let written = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            assert_eq!((told.cell(|_| true).write.ops, told.failures.len()), (33, 0));
            assert_eq!(written.len() as u64, size);
            let sectors: std::collections::HashSet<&[u8]> = written.chunks(512).collect();
            assert_eq!(sectors.len() as u64, size / 512);
            assert!(sectors.iter().all(|s| s.iter().filter(|b| **b == 0).count() < 30));
        }
    }
}

#[test]
fn reads_between_writes_do_not_spoil_the_data() {
    for file in files(0) {
        // Holes read as zeros; what is written must not be.
        file.as_file().set_len(M).unwrap();
        let mut target = target(&file, 1, M);
        target.write = true;
        let mixed = Generator { read_pct: 50.0, ..generator(0) };
        let mut s = share(Some(1), vec![target], vec![mixed]);
        s.interval_ns = SECOND / 20;
        let told = run(s);
        let cell = told.cell(|_| true);
        assert!(cell.read.ops > 0 && cell.write.ops > 0 && told.failures.is_empty());
        let mut block = vec![0; 4096];
        let written = (0..256).filter(|n| {
            file.as_file().read_exact_at(&mut block, n * 4096).unwrap();
            let zeros = block.iter().filter(|b| **b == 0).count();
            assert!(zeros < 64 || zeros == 4096, "{zeros}");
            zeros < 64
        });
        assert!(written.count() > 0);
    }
}

#[test]
fn samples_have_their_measured_length_and_full_lanes() {
    for file in files(M) {
        let mut s = share(Some(4), vec![target(&file, 2, M)], vec![generator(0)]);
        s.interval_ns = SECOND / 10;
        let told = run(s);
        assert_eq!((told.samples.len(), told.samples[0].start_ns), (4, 0));
        for (sample, n) in told.samples.iter().zip(1u64..) {
            assert!(sample.end_ns >= n * SECOND / 10);
            let timed: u64 = sample.pair_times.iter().map(|p| p.times.read.service.count()).sum();
            assert_eq!(timed, sample.pairs.iter().map(|p| p.cell.read.ops).sum::<u64>());
        }
        // Not in each: a busy machine may leave one without, and bring its I/Os with the next.
        let all = told.cell(|_| true);
        let length = told.samples[3].end_ns;
        assert!(all.read.ops > 0 && all.busy_ns <= 2 * length, "{} {length}", all.busy_ns);
    }
}

#[test]
fn a_file_that_is_cut_short_gives_short_transfers() {
    for file in files(M) {
        let sequential = Generator { seek: Seek::Percent(0.0), ..generator(0) };
        let mut s = share(None, vec![target(&file, 1, M)], vec![sequential]);
        s.interval_ns = SECOND / 50;
        let cut = 512 * K + 1024;
        let told = run_watched(s, |event, running| match event {
            WorkerEvent::Interval(s) if s.interval == 1 => file.as_file().set_len(cut).unwrap(),
            WorkerEvent::Failure(_) => running.stop(None),
            _ => {}
        });
        let (first, last) = (&told.failures[0], told.failures.last().unwrap());
        assert!(told.failures.iter().all(|f| f.read && f.xfer == 4 * K && f.lba + 4 * K > cut));
        let known = [IoErrorKind::Short { got: 1024 }, IoErrorKind::Short { got: 0 }];
        assert!(known.contains(&first.error) && known.contains(&last.error));
        assert_eq!((first.sd, first.lun.as_str()), (0, file.path().to_str().unwrap()));
        let wanted = |f: &&brunt_plan::work::IoFailure| (f.lba == 512 * K) == (f.error == known[0]);
        assert!(told.failures.iter().all(|f| wanted(&f)));
    }
}

#[test]
fn failures_of_the_system_carry_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let directory = crate::harness::file(3, 1, folder.path().to_str().unwrap(), M);
    let s = share(None, vec![directory], vec![generator(0)]);
    let told = run_watched(s, |event, running| {
        if matches!(event, WorkerEvent::Failure(_)) {
            running.stop(None);
        }
    });
    assert_eq!((told.failures[0].error, told.failures[0].sd), (IoErrorKind::Errno(libc::EISDIR), 3));
}

#[test]
fn a_target_that_cannot_be_opened_is_named() {
    let missing = crate::harness::file(0, 1, "/nonexistent/x", M);
    let text = start(share(Some(1), vec![missing], vec![generator(0)])).err().unwrap().to_string();
    assert_eq!(text, "cannot open /nonexistent/x of sd sd1 for reading: No such file or directory (os error 2)");
}

#[test]
fn lanes_can_be_bound_to_cores() {
    let file = &files(M)[0];
    let cores = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).unwrap();
    let some = (0..nix::sched::CpuSet::count()).find(|c| cores.is_set(*c).unwrap()).unwrap();
    let prepare = |core| {
        let options = brunt_engine::EngineOptions { cores: vec![core], ..Default::default() };
        let s = share(Some(1), vec![target(file, 2, M)], vec![generator(0)]);
        brunt_engine::Engine::prepare(s, options, Box::new(|_| ())).map(drop)
    };
    prepare(some).unwrap();
    let text = prepare(1023).err().unwrap().to_string();
    assert!(text.starts_with("cannot bind thread io-sd1-") && text.contains("to core 1023: "), "{text}");
}

#[test]
fn wrapping_areas_reach_both_ends() {
    for file in files(M) {
        let wrapped = Area { low: 896 * K, high: M + 128 * K, wrap: Some(Wrap { at: M, to: 0 }) };
        let both = Generator { miss: wrapped, ..eof(M, 64 * K, 100.0) };
        let told = run_to_eof(share(None, vec![target(&file, 2, M)], vec![both]));
        assert_eq!((told.cell(|_| true).read.bytes, told.failures.len()), (256 * K, 0));
    }
}

#[test]
fn a_random_workload_goes_on_after_a_sequential_one_has_ended() {
    let file = &mut files(M)[0];
    file.seek(SeekFrom::Start(0)).unwrap();
    let random = Generator { workload: 1, stream: 9, ..generator(0) };
    let mut s = share(None, vec![target(file, 2, M)], vec![eof(M, 4 * K, 100.0), random]);
    s.interval_ns = SECOND / 50;
    let mut ended = false;
    let mut alone = None;
    let told = run_watched(s, |event, running| match event {
        WorkerEvent::SequentialDone => ended = true,
        WorkerEvent::Interval(s) if ended && alone.is_none() => {
            let only_random = s.pairs.iter().all(|p| p.workload == 1 && p.cell.read.ops > 0);
            if only_random && !s.pairs.is_empty() {
                alone = Some(s.interval);
                running.stop(None);
            }
        }
        _ => {}
    });
    assert_eq!(told.cell(|p| p.workload == 0).read.ops, 256);
    assert!(!told.samples[alone.unwrap() as usize - 1].idle);
}
