//! What the calls of the protocol do: each may come twice, over two connections, and has its effect once.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use brunt_proto::v1::worker_message::Event;
use brunt_proto::{shell, v1};
use prost::Message;
use tokio::sync::OnceCell;

use super::DRAIN_LIMIT;
use super::cores;
use super::desk::Desk;
use super::marks::Marks;
use super::options::AgentOptions;
use super::relay::Relay;
use super::repeat::Repeat;
use super::sights::Sights;
use super::team::Team;
use super::witness::Witness;
use crate::engine::WorkEngine;
use crate::inspect;

/// Which run was prepared, and with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Prepared {
    /// `None`: nobody here has anything to do in it.
    run_id: Option<u32>,
    /// Of the whole request.
    content: u64,
    /// How many runs were over: the same may come again in another run.
    runs_over: u64,
}

/// The agent behind its service. Errors are sentences.
pub struct Calls {
    options: AgentOptions,
    engine: Arc<dyn WorkEngine>,
    desk: Arc<Desk>,
    relay: Relay,
    team: OnceCell<Team>,
    prepared: Repeat<Prepared, ()>,
    started: Repeat<u32, u64>,
    hook: Repeat<u64, v1::RunHookReply>,
    sights: Sights,
    marks: Arc<Marks>,
}

impl Calls {
    /// An agent without workers.
    pub fn new(options: AgentOptions, engine: Arc<dyn WorkEngine>, desk: Arc<Desk>, relay: Relay) -> Self {
        let (prepared, started, hook) = (Repeat::default(), Repeat::default(), Repeat::default());
        let (sights, marks) = (Sights::default(), Arc::default());
        Self { options, engine, desk, relay, team: OnceCell::new(), prepared, started, hook, sights, marks }
    }

    /// What tells others which luns this execution writes to.
    pub fn marks(&self) -> Arc<Marks> {
        Arc::clone(&self.marks)
    }

    /// The workers.
    ///
    /// # Errors
    /// There are none yet.
    pub fn team(&self) -> Result<&Team, String> {
        self.team.get().ok_or_else(|| "the agent has not been greeted".to_owned())
    }

    /// The workers, started as the first client wants them.
    ///
    /// # Errors
    /// They cannot be started.
    pub async fn team_for(&self, client: &v1::HelloRequest) -> Result<&Team, String> {
        let start = || async {
            let options = self.options_for(client)?;
            if !client.client.is_empty() {
                self.marks.belong_to(&client.client);
            }
            Team::start(&options, Arc::clone(&self.engine), self.relay.clone()).await
        };
        self.team.get_or_try_init(start).await
    }

    /// What the command line leaves open the client says.
    fn options_for(&self, client: &v1::HelloRequest) -> Result<AgentOptions, String> {
        let mut options = self.options.clone();
        if client.workers > 0 {
            options.workers = client.workers;
        }
        if !client.label.is_empty() {
            options.label.clone_from(&client.label);
        }
        if options.label.is_empty() {
            options.label = inspect::host_name(Path::new("/proc"));
        }
        if !client.cores.is_empty() {
            let wanted = cores::parse(&client.cores)
                .ok_or_else(|| format!("`{}` is not a list of cores, such as 0-3,8", client.cores))?;
            let given = &self.options.cores;
            if let Some(core) = wanted.iter().find(|core| !given.is_empty() && !given.contains(core)) {
                return Err(format!("core {core} is not among those that this agent was given with --cores"));
            }
            options.cores = wanted;
        }
        Ok(options)
    }

    /// Hands out the shares of a run. What is asked for once more is already there; anything else replaces it.
    ///
    /// # Errors
    /// Luns, limits, or workers that are still at work.
    pub async fn prepare(self: &Arc<Self>, request: v1::PrepareRequest) -> Result<(), String> {
        self.team()?;
        let run_id = request.workers.iter().find_map(|slot| slot.share.as_ref().map(|share| share.run_id));
        let mut hasher = DefaultHasher::new();
        request.encode_to_vec().hash(&mut hasher);
        let key = Prepared { run_id, content: hasher.finish(), runs_over: self.relay.runs_over() };
        let this = Arc::clone(self);
        self.prepared.run(key, || async move { this.prepare_once(request).await }).await
    }

    async fn prepare_once(&self, request: v1::PrepareRequest) -> Result<(), String> {
        let v1::PrepareRequest { workers: mut slots, witness, lease_ms } = request;
        // A start that comes from now on is that of this run.
        self.started.forget();
        let shares = || slots.iter().filter_map(|slot| slot.share.as_ref());
        let first = slots.iter().zip(0..).find_map(|(slot, number)| slot.share.is_some().then_some(number));
        let active = shares().count();
        let virtual_clock = shares().flat_map(|s| &s.targets).any(|t| t.sim.is_some_and(|s| s.virtual_clock));
        let witness = if witness { Witness::of(Path::new("/sys"), &slots) } else { Witness::default() };
        let wanted = Duration::from_millis(lease_ms);
        // Only an agent says where a worker is to run. A worker never sees another connection than that of its agent.
        let bound = slots.iter().any(|slot| slot.placement.is_some());
        let lease = if bound { wanted } else { self.desk.outlive(wanted).await };
        let compared = self.sights.compare(&mut slots).await?;
        self.team()?.prepare(slots, lease).await?;
        self.sights.confirm(compared).await?.iter().for_each(|made| self.marks.mark(made));
        self.relay.prepare(first, active, virtual_clock, witness);
        match bound {
            true => self.desk.bound(lease),
            false => self.desk.prepared(lease),
        }
        Ok(())
    }

    /// Starts the run that is prepared, once. Gives when the last worker begins, as [`Team::start_at`]; 0: that is over.
    ///
    /// # Errors
    /// It is not prepared.
    pub async fn start(self: &Arc<Self>, run_id: u32, at: Instant) -> Result<u64, String> {
        match self.prepared.last_key().and_then(|prepared| prepared.run_id) {
            // It was started, and has ended, before the one that is prepared.
            Some(prepared) if run_id < prepared => return Ok(0),
            Some(prepared) if run_id > prepared => {
                return Err(format!("run {run_id} cannot be started: run {prepared} is the one that is prepared"));
            }
            _ => {}
        }
        let this = Arc::clone(self);
        self.started
            .run(run_id, || async move {
                this.relay.start(at);
                this.team()?.start_at(run_id, at).await
            })
            .await
    }

    /// Runs a command, once for each number. Number 0 is always another one, and ends with its caller.
    ///
    /// # Errors
    /// It cannot be run.
    pub async fn hook(&self, request: v1::RunHookRequest) -> Result<v1::RunHookReply, String> {
        let v1::RunHookRequest { command, call, limit_ms } = request;
        let limit = (limit_ms > 0).then(|| Duration::from_millis(limit_ms));
        let run = || async move {
            let done = shell::run_within(&command, limit).await;
            done.map_err(|error| format!("`{command}` cannot be run: {error}"))
        };
        match self.hook.last_key() {
            _ if call == 0 => run().await,
            Some(last) if call < last => Err(format!("command {call} is over: command {last} came behind it")),
            _ => self.hook.run(call, run).await,
        }
    }

    /// Tells the client that no worker goes on.
    pub fn cannot_go_on(&self, why: &str) {
        let workers = self.team.get().map_or(0, |team| team.pids().len());
        (0..workers as u32).for_each(|worker| self.relay.wire(None, worker, Event::Fatal(why.to_owned())));
    }

    /// Stops all work at once and ends the workers; what is on its way has [`DRAIN_LIMIT`].
    pub async fn end_work(&self) {
        self.hook.abort();
        if let Some(team) = self.team.get() {
            team.end(DRAIN_LIMIT).await;
        }
    }
}
