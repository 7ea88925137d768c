//! How exactly a start is known.

use super::*;

const MS: Duration = Duration::from_millis(1);

/// Ways of so many milliseconds, for the pings before a start and for the start.
async fn start_after(ways: &[u64]) -> Duration {
    let bench = bench(LEASE).await;
    bench.world.trips.lock().unwrap().extend(ways.iter().map(|way| MS * *way as u32));
    bench.link.measure().await.unwrap();
    bench.link.start(MS * 1_000).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_way_that_is_always_the_same_takes_nothing_from_a_start() {
    assert_eq!(start_after(&[50; 12]).await, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_start_that_comes_late_is_as_late_in_the_results() {
    let mut ways = [10; 12];
    // The way of the start there.
    ways[10] = 310;
    assert_eq!(start_after(&ways).await, MS * 300);
    // An answer that comes late takes nothing from it.
    ways.swap(10, 11);
    assert_eq!(start_after(&ways).await, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn round_trips_that_differ_leave_half_their_spread_open() {
    let mut ways = [10; 12];
    (ways[2], ways[3], ways[10]) = (60, 60, 110);
    assert_eq!(start_after(&ways).await, MS * 100 + MS * 50);
}

/// The instant of the start is taken off by half of the shortest round trip. No wall clock has a part in it.
#[tokio::test(start_paused = true)]
async fn the_start_is_mapped_by_round_trips() {
    let bench = bench(LEASE).await;
    bench.far.wall_ms.send_replace(1);
    let trips = [10, 4, 6, 4, 8].map(|trip| [MS * trip / 2; 2]);
    bench.world.trips.lock().unwrap().extend(trips.concat());
    assert_eq!(bench.link.measure().await.unwrap(), MS * 10);
    bench.link.start(MS * 100).await.unwrap();
    assert_eq!(bench.world.calls(), ["1: start Some(DelayNs(98000000))"]);
}
