//! What a process says of itself: since when it lives, and what ended in it.

use ledger::{MinuteCounts, Process};

use crate::world::World;

#[tokio::test]
async fn a_process_that_was_away_has_begun_anew_and_one_that_was_seen_goes_on() {
    let world = World::new().await;
    let process = Process {
        id: "host:1".into(),
        version: "1".into(),
        roles: vec!["worker".into()],
        dispatch_mode: "postgres".into(),
        finalization_slots: 1,
        creation_slots: 1,
        stopping: false,
    };
    let report = async || world.ledger.report_process(&process, &MinuteCounts::default()).await.unwrap();
    const BEGAN_LONG_AGO: &str =
        "select count(*) from service_processes where started_at < now() - interval '1 hour'";
    report().await;
    world.run("update service_processes set started_at = now() - interval '1 day'").await;
    report().await;
    assert_eq!(world.count(BEGAN_LONG_AGO).await, 1, "it was seen a moment ago");
    world.run("update service_processes set seen_at = now() - interval '1 minute'").await;
    report().await;
    assert_eq!(world.count(BEGAN_LONG_AGO).await, 0);
}
