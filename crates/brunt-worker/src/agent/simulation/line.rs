//! The master's end: the calls of a real link, over a road that may be closed.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use brunt_master::dial::{DialError, Purpose};
use brunt_master::tether::talk::{Answer, Line, Reports, Talk};
use brunt_plan::work::{LunFacts, LunKind, LunQuery};
use brunt_proto::CallError;
use brunt_proto::v1::{self, agent_server::Agent as _};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep};
use tokio_stream::StreamExt;
use tonic::{Request, Response, Status};

use super::super::connection::Caller;
use super::far::Far;
use super::road::{Road, Wire};
use super::scenario::Refusal;
use super::world::World;

/// Messages of the event stream that may be on their way.
const AHEAD: usize = 16;

/// The way to a host.
pub struct SimLine {
    pub world: Arc<World>,
    pub host: usize,
}

impl Line for SimLine {
    type Talk = SimTalk;

    async fn open(&self, purpose: Purpose) -> Result<SimTalk, DialError> {
        let road = &self.world.roads[self.host];
        sleep(road.dice.ms(1, 300)).await;
        if !road.is_open() {
            if road.dice.chance(50) {
                sleep(road.dice.ms(100, 8_000)).await;
                return Err(DialError::NotNow("No route to host".into()));
            }
            road.opens().await;
        }
        let far = match purpose {
            Purpose::Begin => self.world.begin(self.host)?,
            Purpose::Attach { token } => {
                let far = self.world.find(self.host, &token)?;
                self.world.attached.fetch_add(1, Relaxed);
                far
            }
        };
        let (wire, number) = far.connect();
        Ok(SimTalk { world: Arc::clone(&self.world), road: Arc::clone(road), far, wire, number })
    }

    fn name(&self) -> String {
        format!("ssh h{}.lab", self.host)
    }

    async fn agent_ended(&self) -> Option<String> {
        None
    }

    fn abandon(&self) {}
}

/// A connection.
pub struct SimTalk {
    world: Arc<World>,
    road: Arc<Road>,
    far: Arc<Far>,
    wire: Arc<Wire>,
    number: u64,
}

type Answering<P> = Pin<Box<dyn Future<Output = Result<Response<P>, Status>> + Send>>;

impl SimTalk {
    /// Both ends count the same lease at all times, between runs too.
    fn check_lease(&self, prepared_ms: u64) {
        let (wanted, there) = (self.world.scenario.lease(), self.far.desk.lease());
        if there != wanted || u128::from(prepared_ms) != wanted.as_millis() {
            let host = self.far.host;
            self.world.wrong(format!("the lease of host {host} is {there:?}, then {prepared_ms} ms: not {wanted:?}"));
        }
    }

    /// A call there and back. `often`: it may come twice over one connection.
    async fn exchange<Q, P>(
        &self,
        often: bool,
        request: Q,
        serve: fn(Arc<Far>, Request<Q>) -> Answering<P>,
    ) -> Answer<P>
    where
        Q: Clone + Send + 'static,
        P: Send + 'static,
    {
        tokio::select! {
            biased;
            why = self.wire.near_breaks() => Err(CallError::Broken(why)),
            answer = self.round_trip(often, request, serve) => answer,
        }
    }

    async fn round_trip<Q, P>(
        &self,
        often: bool,
        request: Q,
        serve: fn(Arc<Far>, Request<Q>) -> Answering<P>,
    ) -> Answer<P>
    where
        Q: Clone + Send + 'static,
        P: Send + 'static,
    {
        let host = self.far.host;
        let call = self.world.call(host);
        self.world.passes(host, call, false);
        self.road.travel().await;
        let twice = often && self.road.dice.chance(4);
        let again = twice.then(|| self.at_far_end(request.clone(), serve));
        let answer = self.at_far_end(request, serve).await;
        if twice {
            self.world.doubled.fetch_add(1, Relaxed);
            drop(again);
        }
        // It will show that the connection is broken.
        let Ok(answer) = answer else { return std::future::pending().await };
        self.world.passes(host, call, true);
        self.road.travel().await;
        answer.map(Response::into_inner).map_err(CallError::from)
    }

    fn at_far_end<Q, P>(
        &self,
        request: Q,
        serve: fn(Arc<Far>, Request<Q>) -> Answering<P>,
    ) -> oneshot::Receiver<Result<Response<P>, Status>>
    where
        Q: Send + 'static,
        P: Send + 'static,
    {
        let (mut done, answer) = oneshot::channel();
        let mut request = Request::new(request);
        request.extensions_mut().insert(Caller(self.number));
        let (far, wire) = (Arc::clone(&self.far), Arc::clone(&self.wire));
        let given_up = self.road.dice.chance(50);
        // A greeting renews nothing.
        let renews = std::any::TypeId::of::<Q>() != std::any::TypeId::of::<v1::HelloRequest>();
        tokio::spawn(async move {
            if *wire.closed.borrow() {
                return;
            }
            if renews {
                far.facts.hear(Instant::now());
            }
            let serving = serve(Arc::clone(&far), request);
            tokio::select! {
                biased;
                // With its connection a call goes; so it does, or not in time, when its caller gives it up.
                () = wire.closes() => {}
                () = done.closed(), if given_up => {}
                reply = serving => drop(done.send(reply)),
            }
        });
        answer
    }
}

impl Drop for SimTalk {
    fn drop(&mut self) {
        self.wire.released.send_replace(true);
    }
}

impl Talk for SimTalk {
    type Reports = SimReports;

    async fn hello(&self, request: v1::HelloRequest) -> Answer<v1::HelloReply> {
        self.exchange(true, request, |far, request| Box::pin(async move { far.service.hello(request).await })).await
    }

    async fn ping(&self, request: v1::PingRequest) -> Answer<v1::PingReply> {
        self.exchange(true, request, |far, request| Box::pin(async move { far.service.ping(request).await })).await
    }

    async fn inspect(&self, request: v1::InspectRequest) -> Answer<v1::InspectReply> {
        let refusal = self.world.scenario.refusal;
        let missing = refusal == Some(Refusal::Lun { host: self.far.host });
        let luns = request.luns.iter().map(|query| facts(&LunQuery::from(query.clone()), missing).into()).collect();
        // What is called renews the lease, whatever it is.
        self.exchange(true, v1::PingRequest::default(), |far, request| {
            Box::pin(async move { far.service.ping(request).await })
        })
        .await?;
        self.world.ledger.lock().unwrap().inspected.insert(self.far.host);
        let machine = Some(format!("machine {}", self.far.host));
        Ok(v1::InspectReply { luns, machine, ..Default::default() })
    }

    async fn prepare(&self, mut request: v1::PrepareRequest) -> Answer<v1::PrepareReply> {
        // Nothing is looked up on the machine of the test.
        for target in request.workers.iter_mut().filter_map(|slot| slot.share.as_mut()).flat_map(|s| &mut s.targets) {
            target.sim = Some(v1::SimSpec { size: target.size, virtual_clock: true, ..Default::default() });
        }
        self.check_lease(request.lease_ms);
        self.exchange(true, request, |far, request| {
            let lease = std::time::Duration::from_millis(request.get_ref().lease_ms);
            Box::pin(async move {
                let done = far.service.prepare(request).await;
                if done.is_ok() {
                    *far.facts.lease.lock().unwrap() = lease;
                }
                done
            })
        })
        .await
    }

    async fn start(&self, request: v1::StartRequest) -> Answer<v1::StartReply> {
        self.exchange(true, request, |far, request| Box::pin(async move { far.service.start(request).await })).await
    }

    async fn events(&self, request: v1::EventsRequest) -> Answer<SimReports> {
        let stream = self
            .exchange(false, request, |far, request| Box::pin(async move { far.service.events(request).await }))
            .await?;
        let (to, messages) = mpsc::channel(AHEAD);
        let (road, wire) = (Arc::clone(&self.road), Arc::clone(&self.wire));
        tokio::spawn(async move {
            let mut stream = stream;
            loop {
                let next = tokio::select! {
                    biased;
                    () = wire.closes() => return,
                    next = stream.next() => next,
                };
                road.travel().await;
                let message = next.transpose().map_err(CallError::from);
                let last = !matches!(message, Ok(Some(_)));
                if to.send(message).await.is_err() || last {
                    return;
                }
            }
        });
        Ok(SimReports { messages, wire: Arc::clone(&self.wire) })
    }

    async fn stop(&self, request: v1::StopRequest) -> Answer<v1::StopReply> {
        self.exchange(true, request, |far, request| Box::pin(async move { far.service.stop(request).await })).await
    }

    async fn grant(&self, request: v1::GrantRequest) -> Answer<v1::GrantReply> {
        self.exchange(true, request, |far, request| Box::pin(async move { far.service.grant(request).await })).await
    }

    async fn drop_sd(&self, request: v1::DropSdRequest) -> Answer<v1::DropSdReply> {
        self.exchange(true, request, |far, request| Box::pin(async move { far.service.drop_sd(request).await })).await
    }

    async fn run_hook(&self, request: v1::RunHookRequest) -> Answer<v1::RunHookReply> {
        self.exchange(true, request, |far, request| Box::pin(async move { far.service.run_hook(request).await })).await
    }

    async fn shutdown(&self, request: v1::ShutdownRequest) -> Answer<v1::ShutdownReply> {
        self.exchange(true, request, |far, request| Box::pin(async move { far.service.shutdown(request).await })).await
    }

    async fn ended(&self) -> Option<String> {
        Some(self.wire.near_breaks().await)
    }
}

/// An event stream.
pub struct SimReports {
    messages: mpsc::Receiver<Answer<Option<v1::WorkerMessage>>>,
    wire: Arc<Wire>,
}

impl Reports for SimReports {
    async fn next(&mut self) -> Answer<Option<v1::WorkerMessage>> {
        let message = async {
            match self.messages.recv().await {
                Some(message) => message,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            message = message => message,
            why = self.wire.near_breaks() => Err(CallError::Broken(why)),
        }
    }
}

fn facts(query: &LunQuery, missing: bool) -> LunFacts {
    LunFacts {
        size: if missing { 0 } else { 1 << 30 },
        readable: !missing,
        writable: !missing,
        identity: (!missing).then(|| "wwn 60060e80".to_owned()),
        block_size: Some(512),
        ..LunFacts::silent(query.sd, if missing { LunKind::Missing } else { LunKind::Block })
    }
}
