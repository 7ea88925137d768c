//! What we did to the devices of a run against what the kernel counted there (`docs/verdicts.md`).

use std::collections::BTreeMap;

use brunt_event::{Compared, Difference, WitnessedDevice};
use brunt_plan::work::{CommandCounts, DeviceCounts, SdTotals};

/// Bytes of a sector in the kernel's counters, whatever the device's own are.
const SECTOR: u64 = 512;

/// The share of I/Os or bytes that may differ.
const TOLERANCE: f64 = 0.001;

/// What may differ however few I/Os there are.
///
/// When a device that was open for writing is closed, udev looks at it: partition tables and signatures, 49 reads of
/// 1.02 MiB in all on Linux 6.18 with util-linux 2.38. That may fall at both ends of a run.
const READ_FLOOR: Floor = Floor { commands: 100, bytes: 2_200_000 };

/// Nobody writes without being asked: only what is counted a moment later than we hear of it.
const WRITE_FLOOR: Floor = Floor { commands: 4, bytes: 4 * 4096 };

struct Floor {
    commands: u64,
    bytes: u64,
}

/// What a host did to the SDs of a run, by their indices in the plan.
#[derive(Debug, Clone, Default)]
pub(crate) struct Done(BTreeMap<u32, SdTotals>);

impl Done {
    /// Adds what a worker did.
    pub(crate) fn add(&mut self, totals: &SdTotals) {
        let sum = self.0.entry(totals.sd).or_insert(SdTotals { sd: totals.sd, ..SdTotals::default() });
        sum.reads += totals.reads;
        sum.read_bytes += totals.read_bytes;
        sum.writes += totals.writes;
        sum.write_bytes += totals.write_bytes;
    }

    /// Reads and writes on some SDs.
    fn on(&self, sds: &[u32]) -> [Ours; 2] {
        let totals = sds.iter().filter_map(|sd| self.0.get(sd));
        totals.fold([Ours::default(); 2], |[mut read, mut write], t| {
            read.ios += t.reads;
            read.bytes += t.read_bytes;
            write.ios += t.writes;
            write.bytes += t.write_bytes;
            [read, write]
        })
    }
}

/// I/Os of one direction that we did, those that failed among them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ours {
    pub(crate) ios: u64,
    pub(crate) bytes: u64,
}

/// I/Os that failed on some SDs, reads and writes.
pub(crate) type Failures<'f> = &'f dyn Fn(&[u32]) -> [u64; 2];

/// Compares what a host did with what its kernel counted at a device.
pub(crate) fn judge_device(host: u32, done: &Done, failures: Failures<'_>, device: &DeviceCounts) -> WitnessedDevice {
    let [read, write] = done.on(&device.sds);
    let [read_failures, write_failures] = failures(&device.sds);
    // Where nothing at all is counted the driver does not count: heads of NVMe multipath before Linux 6.15.
    let none = device.read == CommandCounts::default() && device.write == CommandCounts::default();
    let counting = device.counting && !(none && device.direct);
    let judge =
        |ours, theirs, failed, floor| compared(&ours, theirs, &Facts { counting, failed, ..facts(device) }, floor);
    WitnessedDevice {
        host,
        device: device.name.clone(),
        sds: device.sds.clone(),
        max_sectors_kb: device.max_sectors_kb,
        max_segments: device.max_segments,
        read: judge(read, &device.read, read_failures, &READ_FLOOR),
        write: judge(write, &device.write, write_failures, &WRITE_FLOOR),
    }
}

/// What else is known of a direction.
struct Facts {
    direct: bool,
    counting: bool,
    failed: u64,
}

fn facts(device: &DeviceCounts) -> Facts {
    Facts { direct: device.direct, counting: device.counting, failed: 0 }
}

fn compared(ours: &Ours, theirs: &CommandCounts, facts: &Facts, floor: &Floor) -> Compared {
    let mut compared = Compared {
        ios: ours.ios,
        bytes: ours.bytes,
        kernel_commands: theirs.commands,
        kernel_merges: theirs.merges,
        kernel_bytes: theirs.sectors.saturating_mul(SECTOR),
        difference: None,
    };
    compared.difference = difference(&compared, facts, floor);
    compared
}

fn difference(c: &Compared, facts: &Facts, floor: &Floor) -> Option<Difference> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let commands = against(c.kernel_commands, c.ios, floor.commands);
    let bytes = against(c.kernel_bytes, c.bytes, floor.bytes);
    Some(match (bytes, commands) {
        (Equal, Equal) => return None,
        (Less | Equal, Less) | (Less, _) if !facts.counting => Difference::NotCounted,
        (Equal, Greater) => Difference::Split,
        (Equal, Less) => Difference::Merged,
        (Less, _) if !facts.direct => Difference::PageCache,
        (Less, _) if c.ios.saturating_sub(c.kernel_commands) <= facts.failed => Difference::Failed,
        (Less, _) => Difference::Missing,
        (Greater, _) if !facts.direct => Difference::ReadAhead,
        (Greater, _) => Difference::Foreign,
    })
}

/// Whether the kernel counted less or more, by more than is allowed.
fn against(theirs: u64, ours: u64, floor: u64) -> std::cmp::Ordering {
    let allowed = (ours as f64 * TOLERANCE).max(floor as f64);
    if theirs.abs_diff(ours) as f64 <= allowed { std::cmp::Ordering::Equal } else { theirs.cmp(&ours) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;

    /// I/Os of 8 KiB, what the kernel counted of them, and what is known.
    fn reads(ios: u64, commands: u64, kib: u64, direct: bool, failed: u64) -> Option<Difference> {
        judge(true, ios, (commands, kib), (direct, true), failed)
    }

    fn judge(read: bool, ios: u64, theirs: (u64, u64), flags: (bool, bool), failed: u64) -> Option<Difference> {
        let mut done = Done::default();
        let mut totals = SdTotals { sd: 3, ..SdTotals::default() };
        let counts = CommandCounts { commands: theirs.0, merges: 0, sectors: theirs.1 * KIB / SECTOR };
        let mut device = DeviceCounts {
            name: "sdb".into(),
            sds: vec![3],
            direct: flags.0,
            counting: flags.1,
            ..DeviceCounts::default()
        };
        if read {
            (totals.reads, totals.read_bytes, device.read) = (ios, ios * 8 * KIB, counts);
        } else {
            (totals.writes, totals.write_bytes, device.write) = (ios, ios * 8 * KIB, counts);
        }
        done.add(&totals);
        let found = judge_device(0, &done, &|_| [failed, failed], &device);
        let (this, other) = if read { (found.read, found.write) } else { (found.write, found.read) };
        assert_eq!(other.difference, None);
        this.difference
    }

    #[test]
    fn reasons() {
        use Difference::*;
        for (ios, commands, kib, direct, failed, expected) in [
            // Equal, also with a look of udev at each end and within 0.1 %.
            (1_000_000, 1_000_000, 8_000_000, true, 0, None),
            (1_000_000, 1_000_900, 8_007_900, true, 0, None),
            (1_000, 1_098, 10_088, true, 0, None),
            (0, 0, 0, true, 0, None),
            (0, 98, 2_088, true, 0, None),
            // The same bytes.
            (100_000, 800_000, 800_000, true, 0, Some(Split)),
            (100_000, 50_000, 800_000, true, 0, Some(Merged)),
            (100_000, 50_000, 800_000, false, 0, Some(Merged)),
            // Fewer.
            (100_000, 20_000, 160_000, false, 0, Some(PageCache)),
            (100_000, 0, 0, false, 0, Some(PageCache)),
            (100_000, 99_000, 792_000, true, 0, Some(Missing)),
            (100_000, 99_000, 792_000, true, 1_000, Some(Failed)),
            (100_000, 0, 0, true, 0, Some(NotCounted)),
            // More.
            (100_000, 120_000, 960_000, true, 0, Some(Foreign)),
            (0, 5_000, 40_000, true, 0, Some(Foreign)),
            (100_000, 20_000, 3_200_000, false, 0, Some(ReadAhead)),
        ] {
            let case = format!("{ios} I/Os, {commands} commands, {kib} KiB, direct {direct}, {failed} failed");
            assert_eq!(reads(ios, commands, kib, direct, failed), expected, "{case}");
        }
    }

    #[test]
    fn writes_of_others_show_at_once() {
        assert_eq!(judge(false, 1_000, (1_003, 8_012), (true, true), 0), None);
        assert_eq!(judge(false, 1_000, (1_020, 8_160), (true, true), 0), Some(Difference::Foreign));
    }

    #[test]
    fn a_device_that_does_not_count_is_no_page_cache() {
        assert_eq!(judge(true, 100_000, (0, 0), (true, false), 0), Some(Difference::NotCounted));
        assert_eq!(judge(true, 100_000, (0, 0), (false, false), 0), Some(Difference::NotCounted));
        // It counts writes, so it counts.
        let device = DeviceCounts {
            sds: vec![3],
            direct: true,
            counting: true,
            write: CommandCounts { commands: 4_000, merges: 0, sectors: 64_000 },
            ..DeviceCounts::default()
        };
        let mut done = Done::default();
        done.add(&SdTotals { sd: 3, reads: 4_000, read_bytes: 32 << 20, writes: 4_000, write_bytes: 32_768_000 });
        let found = judge_device(0, &done, &|_| [0, 0], &device);
        assert_eq!((found.read.difference, found.write.difference), (Some(Difference::Missing), None));
    }

    #[test]
    fn sds_and_workers_on_one_device_count_together() {
        let mut done = Done::default();
        let sd = |sd, reads| SdTotals { sd, reads, read_bytes: reads * 4096, ..SdTotals::default() };
        for totals in [sd(1, 10_000), sd(2, 20_000), sd(1, 30_000), sd(9, 1_000_000)] {
            done.add(&totals);
        }
        let device = DeviceCounts {
            sds: vec![1, 2],
            direct: true,
            counting: true,
            read: CommandCounts { commands: 60_000, merges: 0, sectors: 480_000 },
            ..DeviceCounts::default()
        };
        let found = judge_device(4, &done, &|_| [0, 0], &device);
        assert_eq!((found.host, found.read.ios, found.read.bytes), (4, 60_000, 60_000 * 4096));
        assert_eq!(found.read.difference, None);
    }
}
