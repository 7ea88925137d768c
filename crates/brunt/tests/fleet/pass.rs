//! Work of which all sums are known: each host goes once through its own lun, block by block, at a steady rate.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::lab::Lab;
use crate::run::Ended;

/// Blocks of a lun: far more than any pass takes.
const BLOCKS: u64 = 1 << 20;
/// Their size, bytes.
const BLOCK: u64 = 4096;

/// What is done with the blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Work {
    Read,
    Write,
}

/// Hosts that go through the first blocks of their luns.
pub struct Pass {
    /// Names of hosts.
    pub hosts: &'static [&'static str],
    pub work: Work,
    /// I/Os a second of each host.
    pub rate: u64,
    /// Blocks of each host.
    pub blocks: u64,
}

impl Pass {
    /// The parameter file; `misc` comes first. Its run is `rd1`.
    pub fn parm(&self, misc: &str) -> String {
        let each = |line: &dyn Fn(&str) -> String| self.hosts.iter().map(|host| line(host)).collect::<String>();
        format!(
            "{misc}hd=default,shell=ssh,vdbench=/mnt/bin\n{}{}\
             wd=wd1,sd=*,xfersize=4k,rdpct={},seekpct=eof,range=(0,{})\n\
             rd=rd1,wd=wd1,iorate={},distribution=deterministic,elapsed=600,interval=1\n",
            each(&|host| format!("hd={host}\n")),
            each(&|host| format!("sd=sd_{host},host={host},lun=/mnt/luns/{host},threads=2\n")),
            if self.work == Work::Read { 100 } else { 0 },
            self.blocks * BLOCK,
            self.rate * self.hosts.len() as u64,
        )
    }

    /// Gives each host its lun, which is full of nothing.
    pub fn luns(&self, lab: &Lab) {
        let ours = lab.hosts().iter().filter(|host| self.hosts.contains(&host.name().as_str()));
        ours.for_each(|host| host.lun(&host.name(), BLOCKS * BLOCK));
    }

    /// Asserts that the load never paused, no interval is missing, and each block was done once.
    pub fn assert_whole(&self, lab: &Lab, done: &Ended) {
        done.ends_with(0);
        let rows = done.run("rd1");
        let numbers: Vec<u64> = rows.iter().map(|row| row.0).collect();
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "{}", done.said);
        let all = self.blocks * self.hosts.len() as u64;
        assert_eq!(rows.iter().map(|row| row.1).sum::<u64>(), all, "{}", done.said);
        assert_eq!(done.total_bytes("rd1"), all * BLOCK, "{}", done.said);
        // A machine that has much else to do may be late, but no more than this: a pause would be.
        let (mut ops, rate) = (0, self.rate * self.hosts.len() as u64);
        for (number, more) in rows.iter().take(rows.len() - 1) {
            ops += more;
            let late = (number * rate).min(all).abs_diff(ops);
            assert!(late <= 3 * rate, "{late} are missing by interval {number}:\n{}", done.said);
        }
        assert!(done.of("interval").all(|event| event["missing_workers"] == 0), "{}", done.said);
        // What the workers counted for themselves.
        let ended = done.of("run_ended").next().expect("an end");
        let counted = ended["totals"].as_array().unwrap().iter();
        let counted = counted.map(|sd| sd["reads"].as_u64().unwrap_or(0) + sd["writes"].as_u64().unwrap_or(0));
        assert_eq!(counted.sum::<u64>(), all, "{ended}");
        self.assert_written(lab);
    }

    /// Asserts that each block was written, if that was the work, and nothing behind them.
    fn assert_written(&self, lab: &Lab) {
        for host in lab.hosts().iter().filter(|host| self.hosts.contains(&host.name().as_str())) {
            let lun = File::open(host.path("luns").join(host.name())).unwrap();
            let mut block = vec![0; usize::try_from(BLOCK).unwrap()];
            for at in 0..=self.blocks {
                lun.read_exact_at(&mut block, at * BLOCK).unwrap();
                let written = block.iter().any(|byte| *byte != 0);
                assert_eq!(written, self.work == Work::Write && at < self.blocks, "block {at} of {}", host.name());
            }
        }
    }
}
