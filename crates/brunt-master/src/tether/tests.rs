//! A link over connections that break as the test says. Time is tokio's own, which jumps to the next thing due.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use brunt_plan::work::WorkerEvent;
use tokio::sync::mpsc::UnboundedReceiver;

use super::talk::{Answer, Reports};
use super::*;
use crate::link::HostLink;

mod rejoin;
mod start;
mod words;

type Message = Answer<Option<v1::WorkerMessage>>;

/// What happens at a dial.
enum Opening {
    Works(FakeTalk),
    Fails(DialError),
    Hangs,
}

#[derive(Default)]
struct World {
    openings: Mutex<VecDeque<Opening>>,
    /// What was called, with the number of the connection.
    calls: Mutex<Vec<String>>,
    /// How long the next ways of pings and starts take, there and back.
    trips: Mutex<VecDeque<Duration>>,
    /// When our clock began, and how far the agents' is ahead of it.
    began: OnceLock<Instant>,
    /// Whether connections have a process that carries them.
    carried: AtomicBool,
    /// What the last ping confirmed.
    confirmed: Mutex<u64>,
}

impl World {
    async fn trip(&self) {
        let trip = self.trips.lock().unwrap().pop_front();
        sleep(trip.unwrap_or_default()).await;
    }

    /// The agents' clock.
    fn clock_ns(&self) -> u64 {
        let here = self.began.get_or_init(Instant::now).elapsed();
        (Duration::from_secs(77_777) + here).as_nanos() as u64
    }

    fn called(&self, what: String) {
        self.calls.lock().unwrap().push(what);
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }

    fn will(&self, opening: Opening) {
        self.openings.lock().unwrap().push_back(opening);
    }

    /// A connection that works until the test says otherwise.
    fn will_work(self: &Arc<Self>, number: u32) -> Far {
        let (talk, far) = FakeTalk::new(Arc::clone(self), number);
        self.will(Opening::Works(talk));
        far
    }
}

struct FakeLine(Arc<World>);

impl Line for FakeLine {
    type Talk = FakeTalk;

    async fn open(&self, purpose: Purpose) -> Result<FakeTalk, DialError> {
        self.0.called(format!("dial {purpose:?}"));
        let opening = self.0.openings.lock().unwrap().pop_front();
        match opening {
            Some(Opening::Works(talk)) => Ok(talk),
            Some(Opening::Fails(error)) => Err(error),
            Some(Opening::Hangs) => std::future::pending().await,
            None => Err(DialError::NotNow("no route to host".into())),
        }
    }

    fn name(&self) -> String {
        "wire".into()
    }

    async fn agent_ended(&self) -> Option<String> {
        None
    }

    fn abandon(&self) {
        self.0.called("abandon".into());
    }
}

/// How a connection behaves.
#[derive(Debug, Clone, PartialEq)]
enum Mood {
    Works,
    /// Nothing is answered.
    Silent,
    /// A greeting is answered, and nothing else.
    Greets,
    /// Every call fails at once.
    Broken,
    /// Calls but the ping fail.
    Odd,
    /// The session is not there.
    Refuses(&'static str),
}

/// The far end of a connection.
struct Far {
    mood: watch::Sender<Mood>,
    wall_ms: watch::Sender<i64>,
    /// How what carries the connection has ended.
    carrier: watch::Sender<Option<String>>,
    reports: mpsc::UnboundedSender<Message>,
}

impl Far {
    fn report(&self, seq: u64) {
        let event = Some(v1::worker_message::Event::Log(format!("line {seq}")));
        self.reports.send(Ok(Some(v1::WorkerMessage { worker: 0, seq, run_id: None, event }))).unwrap();
    }

    /// The connection breaks.
    fn cut(&self) {
        self.mood.send_replace(Mood::Broken);
        self.reports.send(Err(CallError::Broken("broken pipe".into()))).unwrap();
    }
}

struct FakeTalk {
    world: Arc<World>,
    number: u32,
    mood: watch::Receiver<Mood>,
    wall_ms: watch::Receiver<i64>,
    carrier: watch::Receiver<Option<String>>,
    reports: Mutex<Option<UnboundedReceiver<Message>>>,
}

impl FakeTalk {
    fn new(world: Arc<World>, number: u32) -> (Self, Far) {
        let (mood, its_mood) = watch::channel(Mood::Works);
        let (wall_ms, its_wall_ms) = watch::channel(0);
        let (carrier, its_carrier) = watch::channel(None);
        let (reports, its_reports) = mpsc::unbounded_channel();
        let reports_of = Mutex::new(Some(its_reports));
        (
            Self { world, number, mood: its_mood, wall_ms: its_wall_ms, carrier: its_carrier, reports: reports_of },
            Far { mood, wall_ms, carrier, reports },
        )
    }

    async fn answer<T>(&self, what: String, reply: T) -> Answer<T> {
        let mood = self.mood.borrow().clone();
        if what != "ping" {
            self.world.called(format!("{}: {what}", self.number));
        }
        match mood {
            Mood::Odd if what != "ping" => Err(CallError::Broken("too large".into())),
            Mood::Greets if what.starts_with("hello") => Ok(reply),
            Mood::Works | Mood::Odd => Ok(reply),
            Mood::Greets | Mood::Silent => std::future::pending().await,
            Mood::Broken => Err(CallError::Broken("broken pipe".into())),
            Mood::Refuses(why) => Err(CallError::Refused(why.into())),
        }
    }
}

impl Reports for UnboundedReceiver<Message> {
    async fn next(&mut self) -> Message {
        self.recv().await.unwrap_or(Ok(None))
    }
}

impl Talk for FakeTalk {
    type Reports = UnboundedReceiver<Message>;

    async fn hello(&self, request: v1::HelloRequest) -> Answer<v1::HelloReply> {
        let reply = v1::HelloReply {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").into(),
            token: "secret".into(),
            build: if request.tell_build { "abc".into() } else { String::new() },
            ..Default::default()
        };
        self.answer(format!("hello {:?}", request.token), reply).await
    }

    async fn ping(&self, request: v1::PingRequest) -> Answer<v1::PingReply> {
        self.world.trip().await;
        let clock_ns = self.world.clock_ns();
        self.world.trip().await;
        if request.taken > 0 {
            *self.world.confirmed.lock().unwrap() = request.taken;
        }
        let wall_ms = *self.wall_ms.borrow();
        self.answer("ping".into(), v1::PingReply { wall_ms, clock_ns }).await
    }

    async fn inspect(&self, _: v1::InspectRequest) -> Answer<v1::InspectReply> {
        self.answer("inspect".into(), v1::InspectReply::default()).await
    }

    async fn prepare(&self, request: v1::PrepareRequest) -> Answer<v1::PrepareReply> {
        self.answer(format!("prepare for {} ms", request.lease_ms), v1::PrepareReply {}).await
    }

    async fn start(&self, request: v1::StartRequest) -> Answer<v1::StartReply> {
        self.world.trip().await;
        let Some(v1::start_request::When::DelayNs(delay)) = request.when else { panic!("{request:?}") };
        let begins_ns = self.world.clock_ns() + delay;
        self.world.trip().await;
        self.answer(format!("start {:?}", request.when), v1::StartReply { begins_ns }).await
    }

    async fn events(&self, request: v1::EventsRequest) -> Answer<Self::Reports> {
        let reports = self.reports.lock().unwrap().take().expect("events are asked for once");
        self.answer(format!("events after {}", request.after), reports).await
    }

    async fn stop(&self, request: v1::StopRequest) -> Answer<v1::StopReply> {
        self.answer(format!("stop {:?}", request.after_interval), v1::StopReply {}).await
    }

    async fn grant(&self, request: v1::GrantRequest) -> Answer<v1::GrantReply> {
        self.answer(format!("grant {}", request.interval), v1::GrantReply {}).await
    }

    async fn drop_sd(&self, request: v1::DropSdRequest) -> Answer<v1::DropSdReply> {
        self.answer(format!("drop {}", request.sd), v1::DropSdReply {}).await
    }

    async fn run_hook(&self, request: v1::RunHookRequest) -> Answer<v1::RunHookReply> {
        self.answer(format!("hook {} {}", request.call, request.command), v1::RunHookReply::default()).await
    }

    async fn shutdown(&self, _: v1::ShutdownRequest) -> Answer<v1::ShutdownReply> {
        self.answer("shutdown".into(), v1::ShutdownReply {}).await
    }

    async fn ended(&self) -> Option<String> {
        let mut carrier = self.carrier.clone();
        match self.world.carried.load(Relaxed) {
            true => carrier.wait_for(Option::is_some).await.ok()?.clone(),
            false => None,
        }
    }
}

fn crew() -> Crew {
    Crew { label: "hosta".into(), workers: 1, cores: None, builds: Vec::new() }
}

struct Bench {
    world: Arc<World>,
    link: Arc<Link<FakeLine>>,
    events: mpsc::Receiver<(usize, LinkEvent)>,
    /// The first connection.
    far: Far,
}

const LEASE: Duration = Duration::from_secs(30);

async fn bench(lease: Duration) -> Bench {
    let world = Arc::new(World::default());
    let far = world.will_work(1);
    let (sender, events) = mpsc::channel(64);
    let terms = Terms { lease, retry: Some(0) };
    let (_, lines) = mpsc::channel(1);
    let link = Link::new(7, crew(), FakeLine(Arc::clone(&world)), terms, lines, sender);
    link.hello().await.unwrap();
    assert_eq!(world.calls(), ["dial Begin", "1: hello \"\"", "1: events after 0"]);
    Bench { world, link: Arc::new(link), events, far }
}

impl Bench {
    async fn next(&mut self) -> LinkEvent {
        let (host, event) = self.events.recv().await.expect("an event");
        assert_eq!(host, 7);
        event
    }

    async fn line(&mut self) -> String {
        match self.next().await {
            LinkEvent::Worker { event: WorkerEvent::Log(text), .. } => text,
            other => panic!("{other:?}"),
        }
    }

    async fn away(&mut self) -> String {
        match self.next().await {
            LinkEvent::Away { why, .. } => why,
            other => panic!("{other:?}"),
        }
    }

    async fn back(&mut self) -> Duration {
        match self.next().await {
            LinkEvent::Back { away } => away,
            other => panic!("{other:?}"),
        }
    }

    async fn lost(&mut self) -> String {
        match self.next().await {
            LinkEvent::Lost(text) => text,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_that_is_none_of_ours_is_told() {
    for (builds, other) in [(vec![], None), (vec!["def", "abc"], None), (vec!["def"], Some("abc"))] {
        let world = Arc::new(World::default());
        let _far = world.will_work(1);
        let (sender, _events) = mpsc::channel(64);
        let (_, lines) = mpsc::channel(1);
        let crew = Crew { builds: builds.into_iter().map(str::to_owned).collect(), ..crew() };
        let link = Link::new(7, crew, FakeLine(Arc::clone(&world)), Terms::NONE, lines, sender);
        assert_eq!(link.hello().await.unwrap().other_build.as_deref(), other);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_login_prints_is_bounded() {
    let (sender, mut events) = mpsc::channel(64);
    let (to, lines) = mpsc::channel(4);
    let _link = Link::new(7, crew(), FakeLine(Arc::default()), Terms::NONE, lines, sender);
    let prints = tokio::spawn(async move {
        for _ in 0..10_000 {
            to.send("again".to_owned()).await.unwrap();
        }
    });
    for n in 0..101 {
        let Some((7, LinkEvent::Stderr { worker: 0, line })) = events.recv().await else { panic!("{n} lines") };
        match n {
            100 => assert!(line.starts_with("(9900 lines were dropped here: "), "{line}"),
            _ => assert_eq!(line, "again"),
        }
    }
    prints.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_session_goes_on_behind_the_last_message_and_none_comes_twice() {
    let mut bench = bench(LEASE).await;
    [1, 2].iter().for_each(|seq| bench.far.report(*seq));
    assert_eq!([bench.line().await, bench.line().await], ["line 1", "line 2"]);
    bench.world.will(Opening::Fails(DialError::NotNow("no route to host".into())));
    let second = bench.world.will_work(2);
    bench.far.cut();
    assert_eq!(bench.away().await, "does not answer any more (broken pipe)");
    // The agent says again what it is not sure of.
    [2, 3].iter().for_each(|seq| second.report(*seq));
    assert!(bench.back().await < Duration::from_secs(5));
    assert_eq!(bench.line().await, "line 3");
    let calls = bench.world.calls();
    let attach = "dial Attach { token: \"secret\" }";
    assert_eq!(calls, [attach, attach, "2: hello \"secret\"", "2: events after 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_under_way_is_made_again() {
    let mut bench = bench(LEASE).await;
    bench.far.mood.send_replace(Mood::Silent);
    let link = Arc::clone(&bench.link);
    let call = tokio::spawn(async move { link.run_hook("failover".into(), None).await });
    bench.world.will(Opening::Hangs);
    let _second = bench.world.will_work(2);
    assert_eq!(bench.away().await, "has not answered for 6 seconds");
    bench.back().await;
    assert!(call.await.unwrap().is_ok());
    let calls: Vec<String> = bench.world.calls().into_iter().filter(|call| call.contains("hook")).collect();
    assert_eq!(calls, ["1: hook 1 failover", "2: hook 1 failover"], "the same number, so that it is run once");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_works_is_not_made_again() {
    let bench = bench(LEASE).await;
    bench.far.mood.send_replace(Mood::Odd);
    let error = bench.link.stop(None).await.unwrap_err();
    assert_eq!(error, LinkError::Broken("too large".into()));
    assert_eq!(bench.world.calls(), ["1: stop None"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_shows_a_broken_connection() {
    let mut bench = bench(LEASE).await;
    let _second = bench.world.will_work(2);
    bench.far.mood.send_replace(Mood::Broken);
    bench.link.stop(Some(4)).await.unwrap();
    assert_eq!(bench.away().await, "does not answer any more (broken pipe)");
    let calls: Vec<String> = bench.world.calls().into_iter().filter(|call| call.contains("stop")).collect();
    assert_eq!(calls, ["1: stop Some(4)", "2: stop Some(4)"]);
}

#[tokio::test(start_paused = true)]
async fn a_host_is_lost_when_its_lease_is_over() {
    let mut bench = bench(LEASE).await;
    let from = Instant::now();
    bench.far.cut();
    bench.away().await;
    let text = "the agent of host hosta does not answer any more (broken pipe) and was away longer than its lease of 30 \
                seconds; the last try to reach it: no route to host";
    assert_eq!(bench.lost().await, text);
    let away = from.elapsed();
    assert!(away >= LEASE && away < LEASE + Duration::from_secs(5), "{away:?}");
    assert_eq!(bench.link.stop(None).await, Err(LinkError::Broken(text.into())));
    assert!(bench.world.calls().contains(&"abandon".into()));
    assert_eq!(bench.events.recv().await, None, "nothing comes after a loss");
}

#[tokio::test(start_paused = true)]
async fn a_host_is_not_lost_before_its_lease_can_be_over() {
    let mut bench = bench(LEASE).await;
    // Its answers do not get here; what is said to it may get there until the connection is given up.
    bench.far.mood.send_replace(Mood::Silent);
    let from = Instant::now();
    bench.away().await;
    let given_up = from.elapsed();
    assert!(given_up >= Duration::from_secs(6), "{given_up:?}");
    // One that answers to a greeting may have heard the rest.
    sleep(Duration::from_secs(20)).await;
    bench.world.will_work(2).mood.send_replace(Mood::Greets);
    bench.lost().await;
    let lost = from.elapsed() - given_up;
    assert!(lost >= Duration::from_secs(20) + LEASE && lost < LEASE * 2, "{lost:?}");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_gone_is_lost_at_once() {
    for (opening, reason) in [
        (Opening::Fails(DialError::Never("the host key has changed".into())), "the host key has changed"),
        (
            {
                let (talk, far) = FakeTalk::new(Arc::default(), 2);
                far.mood.send_replace(Mood::Refuses("its lease ran out at 12:00:01"));
                Opening::Works(talk)
            },
            "its lease ran out at 12:00:01",
        ),
    ] {
        let mut bench = bench(LEASE).await;
        bench.world.will(opening);
        bench.far.cut();
        let text = bench.lost().await;
        let expected = format!(
            "the agent of host hosta does not answer any more (broken pipe), and its session cannot be gone on with: {reason}"
        );
        assert_eq!(text, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_lease_a_broken_connection_is_the_end() {
    let mut bench = bench(Duration::ZERO).await;
    bench.far.cut();
    assert_eq!(bench.lost().await, "the agent of host hosta does not answer any more (broken pipe)");
    assert!(!bench.world.calls().iter().any(|call| call.starts_with("dial")));
}

#[tokio::test(start_paused = true)]
async fn a_slow_link_is_given_more_time_each_time() {
    let mut bench = bench(Duration::from_secs(120)).await;
    let (second, _third) = (bench.world.will_work(2), bench.world.will_work(3));
    bench.far.mood.send_replace(Mood::Silent);
    assert_eq!(bench.away().await, "has not answered for 6 seconds");
    bench.back().await;
    second.mood.send_replace(Mood::Silent);
    assert_eq!(bench.away().await, "has not answered for 11 seconds");
    bench.back().await;
}

#[tokio::test(start_paused = true)]
async fn messages_that_the_agent_has_forgotten_are_told() {
    let mut bench = bench(LEASE).await;
    bench.far.report(1);
    bench.line().await;
    bench.far.report(5);
    assert_eq!(bench.next().await, LinkEvent::Gap { messages: 3 });
    assert_eq!(bench.line().await, "line 5");
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_differs_is_told_when_it_changes() {
    let mut bench = bench(LEASE).await;
    let now = i64::try_from(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    for minutes in [2, -10] {
        let ahead = minutes * 60_000;
        bench.far.wall_ms.send_replace(now + ahead);
        match bench.next().await {
            // The test's own time stands still, the wall clock does not.
            LinkEvent::Clock { ahead_ms } => assert!((ahead_ms - ahead).abs() < 30_000, "{ahead_ms}"),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_first_connection_is_tried_as_often_as_is_asked_for() {
    for (retry, dials) in [(Some(0), 1), (Some(4), 5), (None, 3)] {
        let world = Arc::new(World::default());
        let (sender, _events) = mpsc::channel(64);
        let (_, lines) = mpsc::channel(1);
        let terms = Terms { retry, ..Terms::NONE };
        let link = Link::new(7, crew(), FakeLine(Arc::clone(&world)), terms, lines, sender);
        let error = link.hello().await.unwrap_err();
        assert_eq!(error.to_string(), "the agent cannot be started: no route to host");
        assert_eq!(world.calls().len(), dials, "{retry:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn of_an_agent_that_is_told_to_end_nothing_is_said() {
    let mut bench = bench(LEASE).await;
    let (link, world, far) = (Arc::clone(&bench.link), Arc::clone(&bench.world), bench.far);
    let cut = async {
        while !world.calls().contains(&"1: shutdown".to_owned()) {
            tokio::task::yield_now().await;
        }
        far.cut();
    };
    let (told, ()) = tokio::join!(link.shutdown(), cut);
    told.unwrap();
    assert_eq!(bench.events.recv().await, None);
    assert!(!world.calls().iter().any(|call| call.starts_with("dial")), "it is not looked for");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_given_up_is_told_to_end_and_hears_nothing_more() {
    let Bench { world, link, mut events, far: _far } = bench(LEASE).await;
    link.abandon();
    assert_eq!(events.recv().await, None, "nothing is said of it");
    let calls = || world.calls().into_iter().filter(|call| !call.starts_with("dial")).collect::<Vec<_>>();
    assert_eq!(calls(), ["1: shutdown", "abandon"]);
    let gone = LinkError::Broken("the agent of host hosta was given up".into());
    assert_eq!((link.stop(None).await, link.shutdown().await), (Err(gone), Ok(())));
    sleep(LEASE).await;
    assert_eq!(world.calls(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_given_up_while_it_is_away_is_not_looked_for() {
    let mut bench = bench(LEASE).await;
    bench.far.cut();
    bench.away().await;
    bench.link.abandon();
    assert_eq!(bench.events.recv().await, None);
    let _there_again = bench.world.will_work(2);
    bench.world.calls();
    sleep(LEASE).await;
    assert_eq!(bench.world.calls(), Vec::<String>::new());
}
