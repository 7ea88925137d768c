//! The network between the master and one host, and the connections over it.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use super::dice::Dice;

/// Time after which an end of a connection that hears nothing gives it up.
const KEEPALIVE: (u64, u64) = (15_000, 20_000);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    /// How many cuts are on it.
    cuts: u32,
    /// How often the host stands still.
    frozen: u32,
}

/// The road.
#[derive(Debug)]
pub struct Road {
    state: watch::Sender<State>,
    pub dice: Dice,
    latency: (u64, u64),
    wires: Mutex<Vec<Weak<Wire>>>,
}

/// The way of a message.
#[derive(Debug, Clone, Copy)]
pub struct Trip {
    way: Duration,
    /// From when the road is open again.
    again: Duration,
}

/// Both ends of a connection.
#[derive(Debug)]
pub struct Wire {
    /// Why it is of no more use to the master.
    pub near: watch::Sender<Option<String>>,
    /// Whether the master has let go of it.
    pub released: watch::Sender<bool>,
    /// Whether it is broken as the host sees it.
    pub far: watch::Sender<bool>,
    /// Whether the host has let go of it.
    pub closed: watch::Sender<bool>,
}

impl Road {
    pub fn new(seed: u64, latency: (u64, u64)) -> Self {
        let state = watch::Sender::new(State { cuts: 0, frozen: 0 });
        Self { state, dice: Dice::new(seed), latency, wires: Mutex::default() }
    }

    /// Waits until a message has come from one end to the other.
    pub async fn travel(&self) {
        self.go(self.trip()).await;
    }

    /// How long a message will take. The dice are thrown before anything is waited for: who is woken first by a watch
    /// that several wait for is no matter of the seed.
    pub fn trip(&self) -> Trip {
        Trip { way: self.dice.ms(self.latency.0, self.latency.1), again: self.dice.ms(0, 1_000) }
    }

    /// As [`Road::travel`].
    pub async fn go(&self, trip: Trip) {
        sleep(trip.way).await;
        if self.is_open() {
            return;
        }
        self.opens().await;
        // It is sent again some time after the road is open.
        sleep(trip.again).await;
        self.opens().await;
    }

    pub fn is_open(&self) -> bool {
        *self.state.borrow() == State { cuts: 0, frozen: 0 }
    }

    /// Waits until something can pass.
    pub async fn opens(&self) {
        let _ = self.state.subscribe().wait_for(|state| state.cuts == 0 && state.frozen == 0).await;
    }

    /// Waits until the host does not stand still.
    pub async fn moves(&self) {
        let _ = self.state.subscribe().wait_for(|state| state.frozen == 0).await;
    }

    /// A connection.
    pub fn lay(&self) -> Arc<Wire> {
        let wire = Arc::new(Wire {
            near: watch::Sender::new(None),
            released: watch::Sender::new(false),
            far: watch::Sender::new(false),
            closed: watch::Sender::new(false),
        });
        self.wires.lock().unwrap().push(Arc::downgrade(&wire));
        wire
    }

    fn wires(&self) -> Vec<Arc<Wire>> {
        self.wires.lock().unwrap().iter().filter_map(Weak::upgrade).collect()
    }

    /// All connections break, as each end hears sooner or later.
    pub fn reset(&self) {
        for wire in self.wires() {
            let (near, far) = (self.dice.ms(0, 500), self.dice.ms(0, 3_000));
            let at_near = Arc::clone(&wire);
            tokio::spawn(async move {
                sleep(near).await;
                at_near.break_near("Connection reset by peer");
            });
            tokio::spawn(async move {
                sleep(far).await;
                wire.far.send_replace(true);
            });
        }
    }

    /// Nothing passes for a time.
    pub fn cut(self: &Arc<Self>, lasts: Duration) {
        self.state.send_modify(|state| state.cuts += 1);
        for wire in self.wires() {
            self.lose_patience(&wire, |wire| wire.break_near("Timeout, server not responding"));
            self.lose_patience(&wire, |wire| {
                wire.far.send_replace(true);
            });
        }
        self.after(lasts, |state| state.cuts -= 1);
    }

    /// The host stands still for a time.
    pub fn freeze(self: &Arc<Self>, lasts: Duration) {
        self.state.send_modify(|state| state.frozen += 1);
        for wire in self.wires() {
            self.lose_patience(&wire, |wire| wire.break_near("Timeout, server not responding"));
        }
        self.after(lasts, |state| state.frozen -= 1);
    }

    fn after(self: &Arc<Self>, lasts: Duration, change: fn(&mut State)) {
        let road = Arc::clone(self);
        tokio::spawn(async move {
            sleep(lasts).await;
            road.state.send_modify(change);
        });
    }

    /// An end gives up when the road stays closed.
    fn lose_patience(self: &Arc<Self>, wire: &Arc<Wire>, give_up: fn(&Wire)) {
        let (road, wire) = (Arc::clone(self), Arc::clone(wire));
        let patience = self.dice.ms(KEEPALIVE.0, KEEPALIVE.1);
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = road.opens() => {}
                () = sleep(patience) => give_up(&wire),
            }
        });
    }
}

impl Wire {
    /// The first reason counts.
    pub fn break_near(&self, why: &str) {
        self.near.send_if_modified(|near| {
            let first = near.is_none();
            if first {
                *near = Some(why.to_owned());
            }
            first
        });
    }

    /// Waits until it is of no more use to the master.
    pub async fn near_breaks(&self) -> String {
        let mut near = self.near.subscribe();
        let why = near.wait_for(Option::is_some).await.unwrap().clone();
        why.unwrap()
    }

    /// Waits until the host has let go of it.
    pub async fn closes(&self) {
        let _ = self.closed.subscribe().wait_for(|closed| *closed).await;
    }
}
