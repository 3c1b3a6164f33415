//! Erasure of a user while a run is in progress, who may be created again with the same id.

use job::{FailureCode, Outcome, State};
use ledger::{CheckpointKey, Finished, Renewal, ReprocessRefusal, Results, Spent, StoredJob};
use operations::{ActionFilter, ErasureStep, JobFilter, OrderOfMany, ReplayOrder};
use records::ConversationId;

use crate::world::{REPLAY, World, completion, fail, new_conversation, olga};

async fn erase(world: &World) {
    world.operations().begin_erasure(&world.ann, &[], &olga()).await.unwrap();
    while world.operations().erase_some(&world.ann, &mut 0).await.unwrap() != ErasureStep::Done {}
}

/// Tries every write of a run, and asserts that each is refused.
async fn assert_refused(world: &World, old: &StoredJob) {
    let key = CheckpointKey { stage: "structure", version: 1, digest: [0; 32] };
    let output = serde_json::json!({"title": "of the erased user"});
    assert!(!world.ledger.record(&old.lease_token(), &key, &output, false, &[]).await.unwrap());
    let spent = Spent { stage: "structure".into(), engine: "e".into(), ..Spent::default() };
    assert!(!world.ledger.spend(&old.lease_token(), &[spent]).await.unwrap());
    let renewed = world.ledger.renew(&[old.lease_token()]).await.unwrap();
    assert!(renewed.iter().all(|renewal| *renewal == Renewal::Lost), "{renewed:?}");
    let failed = fail(FailureCode::Internal);
    let settled = world.ledger.settle(&old.lease_token(), failed, None).await.unwrap();
    assert!(!matches!(settled, ledger::Answer::Granted { .. }), "{settled:?}");
    let results = Results { engine: "e".into(), ..Results::default() };
    let finished = world.ledger.complete(&completion(old, Outcome::Kept, results)).await.unwrap();
    assert!(matches!(finished, Finished::Refused(_)), "{finished:?}");
}

#[tokio::test]
async fn run_of_an_erased_user_writes_nothing_for_a_recreated_user() {
    let world = World::new().await;
    let old = world.claimed("c").await;
    erase(&world).await;
    assert_refused(&world, &old).await;

    assert!(world.ledger.store().create_user(&world.ann, &Default::default()).await.unwrap(), "a fresh user");
    // A client that names its session gets the same conversation id, and so the same job id.
    let job = world.admitted("c").await;
    assert_eq!(job, old.job.id);
    assert_refused(&world, &old).await;
    let new = world.claim(&job).await;
    assert!(new.job.epoch > old.job.epoch);
    assert_refused(&world, &old).await;

    let finished = world.ledger.complete(&completion(&new, Outcome::Kept, Results::default())).await.unwrap();
    assert!(matches!(finished, Finished::Completed { .. }), "{finished:?}");
    assert_eq!(world.count("select count(*) from stage_checkpoints").await, 0);
    assert_eq!(world.count("select count(*) from conversations where title <> ''").await, 0);
}

#[tokio::test]
async fn finalize_after_erasure_starts_above_the_old_epochs() {
    let world = World::new().await;
    let conversation = world.deferred("c").await;
    world.ledger.finalize(&world.ann, &conversation, None, None).await.unwrap().unwrap();
    let old = world.claim(&job::JobId::derive("ann", "c", 1)).await;
    erase(&world).await;
    assert!(world.ledger.store().create_user(&world.ann, &Default::default()).await.unwrap());
    let conversation = world.deferred("c").await;
    world.ledger.finalize(&world.ann, &conversation, None, None).await.unwrap().unwrap();
    let new = world.claim(&old.job.id).await;
    assert!(new.job.epoch > old.job.epoch);
    assert_refused(&world, &old).await;
}

#[tokio::test]
async fn nothing_is_admitted_for_a_user_being_erased() {
    let world = World::new().await;
    let waiting = world.deferred("waiting").await;
    let dead = world.dead("dead", FailureCode::NoContent).await;
    world.operations().begin_erasure(&world.ann, &[], &olga()).await.unwrap();

    assert!(world.ledger.create_conversation(&world.ann, new_conversation("new"), None).await.is_err());
    assert!(world.ledger.finalize(&world.ann, &waiting, None, None).await.unwrap().is_err());
    let again = world.ledger.reprocess(&world.ann, &ConversationId::new("dead"), None).await.unwrap();
    assert_eq!(again.unwrap_err(), ReprocessRefusal::NoConversation);
    assert!(world.operate(&dead, REPLAY).await.is_err());
    let live = "select count(*) from finalization_jobs where status in ('queued', 'leased', 'blocked_byok')";
    assert_eq!(world.count(live).await, 0);
}

#[tokio::test]
async fn erasure_withdraws_a_running_job_first_and_raises_its_epoch() {
    let world = World::new().await;
    let old = world.claimed("c").await;
    world.operations().begin_erasure(&world.ann, &[], &olga()).await.unwrap();
    assert_eq!(
        world.operations().erase_some(&world.ann, &mut 0).await.unwrap(),
        ErasureStep::Removed("conversations", 1)
    );
    let job = world.job(&old.job.id).await;
    assert_eq!(job.state, State::Completed { outcome: Outcome::Withdrawn });
    assert_eq!(job.epoch, old.job.epoch.next());
}

#[tokio::test]
async fn erasure_removes_the_user_from_the_words_of_orders_and_no_other() {
    let world = World::new().await;
    let operations = world.operations();
    let ann = world.ann.as_str();
    let words = [
        format!("live jobs, user {ann}"),
        format!("user {ann}, generation 1"),
        format!("live jobs, user {ann}2"),
        format!("live jobs, user x{ann}"),
        format!("live jobs, user {ann}:bob"),
        format!("live jobs, user {ann}, bob"),
    ];
    for (number, words) in words.iter().enumerate() {
        let id = uuid::Uuid::from_u128(number as u128);
        let given = operations.begin_order(id, OrderOfMany::Cancel, (words, 0), &olga()).await.unwrap();
        operations.end_order(&given).await.unwrap();
    }
    let (id, meant) = (uuid::Uuid::from_u128(99), format!("user {ann}"));
    let running = operations.begin_order(id, OrderOfMany::Cancel, (&meant, 0), &olga()).await.unwrap();
    world.dead("c", FailureCode::InvalidJob).await;
    let order = ReplayOrder {
        filter: JobFilter { user: Some(world.ann.clone()), ..JobFilter::default() },
        words: format!("code invalid_job, user {ann}"),
        from_scratch: false,
        per_minute: 60,
        in_flight: 1,
    };
    operations.start_replay(uuid::Uuid::from_u128(9), &order, &olga()).await.unwrap();
    erase(&world).await;
    operations.end_order(&running).await.unwrap();
    let replays = operations.replay_operations(9).await.unwrap();
    assert_eq!(replays.len(), 1);
    assert_eq!(replays[0].filter, "code invalid_job, a deleted user");
    let filter = ActionFilter { action: Some("bulk_cancel".to_owned()), limit: 9, ..ActionFilter::default() };
    let mut details: Vec<String> =
        operations.actions(&filter).await.unwrap().into_iter().filter_map(|row| row.detail).collect();
    details.sort_unstable();
    let mut expected = [
        "a deleted user, generation 1: 0 done, 0 refused".to_owned(),
        "live jobs, a deleted user: 0 done, 0 refused".to_owned(),
        format!("live jobs, user {ann}2: 0 done, 0 refused"),
        format!("live jobs, user x{ann}: 0 done, 0 refused"),
        format!("live jobs, user {ann}:bob: 0 done, 0 refused"),
        format!("live jobs, user {ann}, bob: 0 done, 0 refused"),
        "a deleted user: 0 done, 0 refused".to_owned(),
    ];
    expected.sort_unstable();
    assert_eq!(details, expected);
}
