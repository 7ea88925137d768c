//! What is said of a connection that is carried by a process of this machine, such as ssh.

use super::*;

/// The first connection, and those that follow, have a process.
async fn carried() -> Bench {
    let bench = bench(LEASE).await;
    bench.world.carried.store(true, Relaxed);
    bench
}

#[tokio::test(start_paused = true)]
async fn what_carried_it_is_named_once() {
    let mut bench = carried().await;
    bench.world.will(Opening::Fails(DialError::NotNow("wire: no route to host".into())));
    bench.far.carrier.send_replace(Some("killed by signal 9 on this machine".into()));
    bench.far.cut();
    let why = "does not answer any more (broken pipe); wire has ended (killed by signal 9 on this machine)";
    assert_eq!(bench.away().await, why);
    (0..20).for_each(|_| bench.world.will(Opening::Fails(DialError::NotNow("wire: no route to host".into()))));
    let expected = format!(
        "the agent of host hosta {why} and was away longer than its lease of 30 seconds; the last try to reach it: no \
         route to host"
    );
    assert_eq!(bench.lost().await, expected);
}

#[tokio::test(start_paused = true)]
async fn what_ended_with_its_connection_open_is_named_once() {
    let mut bench = carried().await;
    bench.world.will(Opening::Fails(DialError::Never("wire: its lease ran out at 12:00:01".into())));
    // The keeper waits for whichever comes first: nothing came over the stream.
    bench.far.carrier.send_replace(Some("exit status 255".into()));
    let expected = "the agent of host hosta cannot be reached: wire has ended (exit status 255), and its session cannot be \
                    gone on with: its lease ran out at 12:00:01";
    assert_eq!(bench.lost().await, expected);
}

#[tokio::test(start_paused = true)]
async fn the_way_is_named_where_it_was_not() {
    let mut bench = bench(LEASE).await;
    bench.world.will(Opening::Fails(DialError::Never("wire: the host key has changed".into())));
    bench.far.cut();
    let expected = "the agent of host hosta does not answer any more (broken pipe), and its session cannot be gone on with: \
                    wire: the host key has changed";
    assert_eq!(bench.lost().await, expected);
}
