//! The host's end: an agent as [`serve`](super::super::serve) makes it, but for the server that stands between its
//! connections and its service.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use brunt_proto::stdio::Keepalive;
use tokio::io::AsyncReadExt;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

use super::super::connection::{Connection, Connections, Ends};
use super::super::desk::{Desk, Streams};
use super::super::outbox::Outbox;
use super::super::service::AgentService;
use super::super::session::Ended;
use super::super::{AgentOptions, behind, live};
use super::engine::SimEngine;
use super::ledger::Agent;
use super::road::{Road, Trip, Wire};
use super::world::World;

/// Whether it lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Life {
    Lives,
    Killed,
    Ended(Ended),
}

/// An agent on a host.
pub struct Far {
    pub host: usize,
    pub token: String,
    pub service: AgentService,
    pub desk: Arc<Desk>,
    pub life: watch::Sender<Life>,
    /// What is known of it.
    pub facts: Arc<Agent>,
    incoming: Mutex<mpsc::UnboundedReceiver<std::io::Result<Connection>>>,
    road: Arc<Road>,
}

impl Far {
    /// Starts an agent.
    pub fn start(world: &Arc<World>, host: usize, number: usize) -> Arc<Self> {
        let (connections, Ends { incoming, ended }) = Connections::new();
        let outbox = Outbox::default();
        let token = format!("{number:064x}");
        let desk = Desk::new(token.clone(), connections, outbox.clone(), Streams::Listener).without_socket();
        let desk = Arc::new(desk);
        let life = watch::Sender::new(Life::Lives);
        let facts = Arc::new(Agent::new(host, Instant::now()));
        let engine = SimEngine { world: Arc::clone(world), agent: Arc::clone(&facts), life: life.subscribe() };
        let (calls, service) = behind(&desk, outbox, options(host), Arc::new(engine));
        let (incoming, road) = (Mutex::new(incoming), Arc::clone(&world.roads[host]));
        let far = Arc::new(Self { host, token, service, desk, life, facts, incoming, road });
        let this = Arc::clone(&far);
        tokio::spawn(async move {
            let mut life = this.life.subscribe();
            let why = tokio::select! {
                biased;
                _ = life.wait_for(|life| *life == Life::Killed) => return,
                why = live(&this.desk, &calls, ended) => why.unwrap(),
            };
            this.facts.ended_at.lock().unwrap().get_or_insert(Instant::now());
            // What is on its way has some time.
            sleep(this.road.dice.ms(0, 1_000)).await;
            this.life.send_replace(Life::Ended(why));
        });
        far
    }

    /// It is gone from one moment to the next.
    pub fn kill(&self) {
        if *self.life.borrow() == Life::Lives {
            self.facts.ended_at.lock().unwrap().get_or_insert(Instant::now());
            self.life.send_replace(Life::Killed);
        }
    }

    pub fn lives(&self) -> bool {
        *self.life.borrow() == Life::Lives
    }

    /// Takes a connection, and gives its number.
    pub fn connect(self: &Arc<Self>) -> (Arc<Wire>, u64) {
        // Nothing is ever sent: that one end has gone is all that the other hears.
        let (held, stream) = tokio::io::duplex(1);
        let number = self.desk.receive(stream);
        let mut connection = self.incoming.lock().unwrap().try_recv().unwrap().unwrap();
        let wire = self.road.lay();
        let (this, laid) = (Arc::clone(self), Arc::clone(&wire));
        this.facts.connected(number);
        let (farewell, end) = (self.road.trip(), self.road.trip());
        tokio::spawn(async move {
            let mut life = this.life.subscribe();
            let mut far = laid.far.subscribe();
            let mut byte = [0];
            tokio::select! {
                biased;
                _ = life.wait_for(|life| *life != Life::Lives) => {}
                _ = far.wait_for(|broken| *broken) => {}
                // The desk cuts it.
                _ = connection.read(&mut byte) => {}
                () = this.let_go(&laid, farewell) => {}
            }
            drop((connection, held));
            this.facts.disconnected(number, Instant::now());
            laid.closed.send_replace(true);
            this.road.go(end).await;
            laid.break_near("the stream was closed");
        });
        (wire, number)
    }

    /// Waits until it is known here that the master has let go of a connection.
    async fn let_go(&self, wire: &Wire, farewell: Trip) {
        let _ = wire.released.subscribe().wait_for(|released| *released).await;
        self.road.go(farewell).await;
    }
}

fn options(host: usize) -> AgentOptions {
    AgentOptions {
        label: format!("h{host}"),
        workers: 1,
        marker: String::new(),
        cores: Vec::new(),
        program: "none".into(),
        keepalive: Keepalive { interval: Duration::from_secs(5), timeout: Duration::from_secs(10) },
        socket: None,
    }
}
