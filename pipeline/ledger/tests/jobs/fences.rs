//! What a lost lease leads to.

use chrono::Duration;
use job::State;
use ledger::{Answer, CheckpointKey, Transition};
use serde_json::json;

use crate::world::World;

const KEY: CheckpointKey = CheckpointKey { stage: "structure", version: 1, digest: [7; 32] };
const CHECKPOINTS: &str = "select count(*) from stage_checkpoints";

#[tokio::test]
async fn of_two_checkpoints_under_one_key_the_first_stands() {
    let world = World::new().await;
    let run = world.claimed("c").await;
    assert!(world.ledger.record(&run.lease_token(), &KEY, &json!(1), false, &[]).await.unwrap());
    assert!(world.ledger.record(&run.lease_token(), &KEY, &json!(2), false, &[]).await.unwrap());
    assert_eq!(world.ledger.recall(&run.lease_token(), &KEY).await.unwrap(), Some(json!(1)));
}

#[tokio::test]
async fn a_lost_lease_records_nothing_even_when_nobody_took_over() {
    let world = World::new().await;
    let run = world.claimed("c").await;
    let released =
        world.ledger.settle(&run.lease_token(), Transition::Release { delay: Duration::zero() }, None).await;
    assert!(matches!(released.unwrap(), Answer::Granted { state: State::Queued { .. }, .. }));
    assert!(!world.ledger.record(&run.lease_token(), &KEY, &json!(1), false, &[]).await.unwrap());
    assert_eq!(world.count(CHECKPOINTS).await, 0);
}
