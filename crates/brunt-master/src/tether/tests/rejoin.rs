//! Sessions that another master goes on with, what agents are left with for it, pings, and starts.

use super::*;

fn kept() -> Kept {
    Kept { token: "secret".into(), facts: Vec::new() }
}

/// A link to the session of another master, not connected.
fn heir(world: &Arc<World>) -> (Link<FakeLine>, mpsc::Receiver<(usize, LinkEvent)>) {
    let (sender, events) = mpsc::channel(64);
    let (_, lines) = mpsc::channel(1);
    let terms = Terms { lease: LEASE, retry: Some(0) };
    (Link::new(7, crew(), FakeLine(Arc::clone(world)), terms, lines, sender).of_session(&kept()), events)
}

#[tokio::test(start_paused = true)]
async fn another_master_hears_all_that_is_there_and_goes_on_as_the_first() {
    let world = Arc::new(World::default());
    world.will(Opening::Fails(DialError::NotNow("no route to host".into())));
    let far = world.will_work(1);
    let (link, events) = heir(&world);
    link.rejoin().await.unwrap();
    let dial = "dial Attach { token: \"secret\" }";
    assert_eq!(world.calls(), [dial, dial, "1: hello \"secret\"", "1: events after 0"]);
    let mut bench = Bench { world, link: Arc::new(link), events, far };
    // What came before the first one the other master had.
    bench.far.report(40);
    assert_eq!(bench.line().await, "line 40");
    bench.far.report(42);
    assert_eq!(bench.next().await, LinkEvent::Gap { messages: 1 });
    assert_eq!(bench.line().await, "line 42");
    bench.link.run_hook("true".into(), None).await.unwrap();
    let hook = bench.world.calls().remove(0);
    let number: u64 = hook.split(' ').nth(2).unwrap().parse().unwrap();
    assert!(number > 1_000_000_000_000, "behind all of the first master: {hook}");
    let second = bench.world.will_work(2);
    bench.far.cut();
    bench.away().await;
    bench.back().await;
    second.report(43);
    assert_eq!(bench.line().await, "line 43");
    assert!(bench.world.calls().contains(&"2: events after 42".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_over_or_out_of_reach_cannot_be_gone_on_with() {
    let world = Arc::new(World::default());
    let far = world.will_work(1);
    far.mood.send_replace(Mood::Refuses("the session has ended: its lease was over"));
    let (link, _events) = heir(&world);
    let error = link.rejoin().await.unwrap_err().to_string();
    assert!(
        error.ends_with("the agent of host hosta cannot be gone on with: the session has ended: its lease was over")
    );
    let world = Arc::new(World::default());
    let (link, _events) = heir(&world);
    let from = Instant::now();
    let error = link.rejoin().await.unwrap_err().to_string();
    assert!(error.ends_with("cannot be gone on with: no route to host"), "{error}");
    assert_eq!(from.elapsed(), LEASE);
}

#[tokio::test(start_paused = true)]
async fn agents_keep_a_run_until_the_next_one_begins() {
    let mut bench = bench(LEASE).await;
    for seq in 1..=3 {
        bench.far.report(seq);
        bench.line().await;
    }
    // Several pings later.
    sleep(Duration::from_secs(5)).await;
    assert_eq!(*bench.world.confirmed.lock().unwrap(), 0);
    bench.link.prepare(Vec::new()).await.unwrap();
    assert_eq!(*bench.world.confirmed.lock().unwrap(), 3);
    // A new connection asks for what is new, and confirms no more than before.
    bench.far.report(4);
    bench.line().await;
    let _second = bench.world.will_work(2);
    bench.far.cut();
    bench.away().await;
    bench.back().await;
    sleep(Duration::from_secs(5)).await;
    assert!(bench.world.calls().contains(&"2: events after 4".to_owned()));
    assert_eq!(*bench.world.confirmed.lock().unwrap(), 3);
}

/// An agent that hears nothing for its lease stops all its work.
#[tokio::test(start_paused = true)]
async fn a_short_lease_is_renewed_in_time() {
    for (lease_s, pings) in [(0, 4), (1, 16), (2, 8), (30, 4)] {
        let bench = bench(Duration::from_secs(lease_s)).await;
        bench.world.trips.lock().unwrap().extend([Duration::ZERO; 100]);
        sleep(Duration::from_millis(4100)).await;
        // There and back.
        let trips = 100 - bench.world.trips.lock().unwrap().len();
        assert_eq!(trips, 2 * pings, "in 4 seconds, with a lease of {lease_s}");
    }
}

#[test]
fn an_agent_is_left_with_no_more_than_it_has_room_for() {
    const MIB: usize = 1 << 20;
    let (shared, _) = Shared::new(7, crew(), FakeLine(Arc::default()), Terms::NONE);
    (1..=32).for_each(|seq| shared.take(seq, MIB));
    assert_eq!(shared.confirmed(), 0);
    (33..=40).for_each(|seq| shared.take(seq, MIB));
    assert_eq!(shared.confirmed(), 8);
}
