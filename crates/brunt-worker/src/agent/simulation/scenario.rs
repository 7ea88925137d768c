//! What a seed means: hosts, runs, and what goes wrong when.

use std::fmt::Write;
use std::time::Duration;

use brunt_parm::source::ReadError;
use brunt_parm::{Input, Reader, Severity};
use brunt_plan::plan::Plan;

use super::dice::Dice;

/// What happens to a host or to the master.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The road is closed for a time. `silent`: no end of a connection hears of it, but by its own patience.
    Cut { host: usize, silent: bool, lasts: Duration },
    /// All connections break; others are possible at once.
    Reset { host: usize },
    /// Everything on the host stands still for a time.
    Freeze { host: usize, lasts: Duration },
    /// The agent is killed with its worker.
    Kill { host: usize },
    /// The agent is told to end (SIGTERM).
    Terminate { host: usize },
    /// The worker cannot go on.
    Fatal { host: usize },
    /// The master is killed.
    KillMaster,
    /// Ctrl-C.
    Interrupt,
}

/// When it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Behind the beginning.
    At(Duration),
    /// At the n-th call to a host, pings included: on its way there, or when its answer is about to go back.
    Call { host: usize, number: u64, answered: bool },
}

#[derive(Debug, Clone, Copy)]
pub struct Fault {
    pub when: When,
    pub what: What,
}

/// A run.
#[derive(Debug, Clone, Copy)]
pub struct RunSpec {
    pub seconds: u64,
    pub writes: bool,
    /// `maxdata=`, MiB.
    pub max_data: Option<u64>,
}

/// Why it cannot be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// A host cannot be reached, now or ever.
    Dial { host: usize, never: bool },
    /// A host has not got the lun.
    Lun { host: usize },
    /// A worker cannot open it.
    Prepare { host: usize },
}

/// A fleet, its work, and its luck.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub seed: u64,
    pub hosts: usize,
    pub runs: Vec<RunSpec>,
    /// `misc=(lease=)`, seconds.
    pub lease: Option<u64>,
    pub goes_on: bool,
    /// Each interval but the first waits for the master.
    pub lockstep: bool,
    pub refusal: Option<Refusal>,
    pub faults: Vec<Fault>,
    /// By host: one way, from and to, milliseconds.
    pub latency: Vec<(u64, u64)>,
    /// How long I/O may take to come back behind the end of a run, milliseconds.
    pub drain_ms: u64,
}

impl Scenario {
    pub fn of(seed: u64) -> Self {
        let dice = Dice::new(seed);
        let hosts = dice.between(1, 3) as usize;
        let long = dice.chance(3);
        let runs = (0..dice.between(1, 2))
            .map(|_| RunSpec {
                seconds: if long { 60 } else { dice.between(2, 8) },
                writes: dice.chance(50),
                max_data: dice.chance(15).then(|| dice.between(1, 12)),
            })
            .collect::<Vec<_>>();
        let lease = dice.pick(&[None, None, None, Some(0), Some(4), Some(30), Some(90)]);
        let lockstep = hosts > 1 && dice.chance(15);
        let refusal = dice.chance(6).then(|| {
            let host = dice.below(hosts as u64) as usize;
            let never = dice.chance(50);
            // What is simulated is everywhere.
            let lun = if lockstep { Refusal::Prepare { host } } else { Refusal::Lun { host } };
            dice.pick(&[Refusal::Dial { host, never }, lun, Refusal::Prepare { host }])
        });
        let horizon = runs.iter().map(|run| run.seconds * 1_000).sum::<u64>() + 2_000;
        let faults = (0..dice.pick(&[0, 1, 1, 1, 2, 2, 3, 4])).map(|_| fault(&dice, hosts, horizon)).collect();
        let latency = (0..hosts).map(|_| dice.pick(&[(0, 1), (1, 20), (20, 60), (100, 800)])).collect();
        let drain_ms = dice.pick(&[0, 0, 50, 3_000]);
        Self { seed, hosts, runs, lease, goes_on: dice.chance(30), lockstep, refusal, faults, latency, drain_ms }
    }

    /// Two hosts with a lease of two minutes that read, then write, so many seconds each; that goes wrong.
    pub fn with(seconds: u64, faults: Vec<Fault>) -> Self {
        let run = |writes| RunSpec { seconds, writes, max_data: None };
        Self {
            seed: 1,
            hosts: 2,
            runs: vec![run(false), run(true)],
            lease: Some(120),
            goes_on: false,
            lockstep: false,
            refusal: None,
            faults,
            latency: vec![(1, 20), (1, 20)],
            drain_ms: 50,
        }
    }

    /// How long each host goes on alone: the shorter time where any run writes.
    pub fn lease(&self) -> Duration {
        let writes = self.runs.iter().any(|run| run.writes);
        Duration::from_secs(self.lease.unwrap_or(if writes { 30 } else { 120 }))
    }

    /// Whether a host stands still at some time.
    pub fn freezes(&self, host: usize) -> bool {
        self.faults.iter().any(|fault| matches!(fault.what, What::Freeze { host: frozen, .. } if frozen == host))
    }

    /// How long something is closed or stands still at most.
    pub fn longest_fault(&self) -> Duration {
        let lasts = |fault: &Fault| match fault.what {
            What::Cut { lasts, .. } | What::Freeze { lasts, .. } => lasts,
            _ => Duration::ZERO,
        };
        self.faults.iter().map(lasts).max().unwrap_or_default()
    }

    /// Whether nothing may be lost, as long as it happens once the agents are greeted: everything that goes wrong is
    /// over well within the lease.
    pub fn is_mild(&self) -> bool {
        let short = |fault: &Fault| match fault.what {
            What::Cut { lasts, .. } | What::Freeze { lasts, .. } => lasts * 3 <= self.lease(),
            What::Reset { .. } => true,
            _ => false,
        };
        let long = self.faults.is_empty() || self.lease() >= Duration::from_secs(30);
        self.refusal.is_none() && long && self.faults.len() <= 1 && self.faults.iter().all(short)
    }

    /// As somebody would write it.
    fn parameter_file(&self) -> String {
        let mut text = String::new();
        if let Some(lease) = self.lease {
            let _ = writeln!(text, "misc=(lease={lease})");
        }
        if self.goes_on {
            text += "misc=(on_worker_loss=continue)\n";
        }
        if self.lockstep {
            text += "misc=(sim.a.size=1g,sim.a.clock=virtual)\n";
        }
        text += "misc=(retry=1)\nhd=default,shell=ssh,user=root\n";
        for host in 0..self.hosts {
            let _ = writeln!(text, "hd=h{host},system=h{host}.lab");
        }
        text += if self.lockstep {
            "sd=sd1,lun=sim:a,threads=4\n"
        } else {
            "sd=sd1,lun=/dev/mapper/mpatha,openflags=o_direct,threads=4\n"
        };
        text += "wd=reads,sd=sd1,xfersize=4k,rdpct=100\nwd=writes,sd=sd1,xfersize=4k,rdpct=0\n";
        for (n, run) in self.runs.iter().enumerate() {
            let wd = if run.writes { "writes" } else { "reads" };
            let max_data = run.max_data.map_or(String::new(), |mib| format!(",maxdata={mib}m"));
            let _ = writeln!(text, "rd=rd{n},wd={wd},iorate=max,elapsed={},interval=1{max_data}", run.seconds);
        }
        text
    }

    pub fn plan(&self) -> Plan {
        let input = Input { files: vec!["p".to_owned()], ..Input::default() };
        let parsed = brunt_parm::parse(&input, &Text(self.parameter_file()));
        let mut diags = parsed.diags;
        let plan = brunt_plan::expand(&parsed.file, &brunt_plan::Options::default(), &mut diags);
        assert!(diags.iter().all(|d| d.severity != Severity::Error), "{diags:?}");
        plan.unwrap()
    }
}

fn fault(dice: &Dice, hosts: usize, horizon_ms: u64) -> Fault {
    let host = dice.below(hosts as u64) as usize;
    let lasts = dice.pick(&[dice.ms(10, 900), dice.ms(1_000, 9_500), dice.ms(9_000, 60_000), dice.ms(60_000, 400_000)]);
    let what = match dice.below(100) {
        0..30 => What::Cut { host, silent: false, lasts },
        30..55 => What::Cut { host, silent: true, lasts },
        55..70 => What::Reset { host },
        70..78 => What::Freeze { host, lasts },
        78..83 => What::Kill { host },
        83..86 => What::Terminate { host },
        86..90 => What::Fatal { host },
        90..95 => What::KillMaster,
        _ => What::Interrupt,
    };
    let when = if dice.chance(50) {
        When::At(dice.ms(0, horizon_ms))
    } else {
        When::Call { host, number: dice.between(1, 30), answered: dice.chance(50) }
    };
    Fault { when, what }
}

struct Text(String);

impl Reader for Text {
    fn read(&self, _: &str) -> Result<String, ReadError> {
        Ok(self.0.clone())
    }

    fn absolute(&self, path: &str) -> String {
        path.to_owned()
    }
}
