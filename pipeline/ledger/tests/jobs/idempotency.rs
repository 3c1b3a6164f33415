//! Requests that a worker repeats because the answer was lost: what the claim itself has committed counts as done,
//! and is not done twice. (The cut connection itself is tested with the worker.)

use job::{FailureCode, Outcome, State};
use ledger::{Answer, Finished, NewItem, NewMemory, Renewal, Results, StoredJob, Transition};
use records::MemoryCategory;
use serde_json::json;

use crate::world::{World, completion, fail, parts};

async fn complete(world: &World, claimed: &StoredJob, results: &Results) -> Finished {
    world.ledger.complete(&completion(claimed, Outcome::Kept, results.clone())).await.unwrap()
}

fn item(description: &str) -> NewItem {
    NewItem { description: description.into(), due_at: None }
}

#[tokio::test]
async fn complete_is_idempotent() {
    let world = World::new().await;
    let claimed = world.claimed("c").await;
    let results = Results { items: vec![item("Call Bob")], ..Results::default() };
    assert!(matches!(complete(&world, &claimed, &results).await, Finished::Completed { items: 1, .. }));
    let version = world.view(&claimed.job.id).await.version;

    assert_eq!(complete(&world, &claimed, &results).await, Finished::Already);
    assert_eq!(world.ledger.renew(&[claimed.lease_token()]).await.unwrap(), [Renewal::Done]);

    assert_eq!(world.view(&claimed.job.id).await.version, version);
    assert_eq!(world.count("select count(*) from action_items").await, 1);
    assert_eq!(world.count("select sum(jobs)::bigint from finalization_totals").await, 1);
}

#[tokio::test]
async fn complete_is_refused_after_another_claim_completed() {
    let world = World::new().await;
    let first = world.claimed("c").await;
    world.age(&first.job.id, chrono::Duration::seconds(31)).await;
    let second = world.claim(&first.job.id).await;
    complete(&world, &second, &Results::default()).await;

    assert!(matches!(complete(&world, &first, &Results::default()).await, Finished::Refused(_)));
    assert_eq!(world.ledger.renew(&[first.lease_token()]).await.unwrap(), [Renewal::Lost]);
}

#[tokio::test]
async fn fail_and_park_are_idempotent() {
    let world = World::new().await;
    for (id, code) in [("queued", FailureCode::ModelTimeout), ("dead", FailureCode::InvalidJob)] {
        let claimed = world.claimed(id).await;
        let transition = fail(code);
        let first = world.ledger.settle(&claimed.lease_token(), transition, None).await.unwrap();
        assert!(matches!(first, Answer::Granted { .. }), "{first:?}");

        assert_eq!(world.ledger.settle(&claimed.lease_token(), transition, None).await.unwrap(), first);
        assert_eq!(world.job(&claimed.job.id).await.attempts, 1);
    }
    let claimed = world.claimed("parked").await;
    let first = world.ledger.settle(&claimed.lease_token(), Transition::Park, None).await.unwrap();
    assert_eq!(world.ledger.settle(&claimed.lease_token(), Transition::Park, None).await.unwrap(), first);
}

#[tokio::test]
async fn complete_writes_equal_items_of_one_result_once() {
    let world = World::new().await;
    let claimed = world.claimed("c").await;
    let memory = |content: &str| NewMemory { content: content.into(), category: MemoryCategory::Core };
    let results = Results {
        items: vec![item("Call Bob"), item("Buy milk"), item("Call Bob")],
        memories: vec![memory("Likes tea"), memory("Likes tea")],
        ..Results::default()
    };
    let finished = complete(&world, &claimed, &results).await;
    assert_eq!(finished, Finished::Completed { items: 2, memories: 1, deliveries: 0 });
    assert_eq!(world.count("select count(*) from action_items").await, 2);
    assert_eq!(world.count("select count(*) from memories").await, 1);
}

#[tokio::test]
async fn unreadable_checkpoint_is_replaced_under_the_current_epoch_only() {
    let world = World::new().await;
    let key = ledger::CheckpointKey { stage: "describe", version: 1, digest: [7; 32] };
    let old = world.claimed("c").await;
    assert!(world.ledger.record(&old.lease_token(), &key, &json!("unreadable"), false, &[]).await.unwrap());
    world.age(&old.job.id, chrono::Duration::seconds(31)).await;
    let new = world.claim(&old.job.id).await;

    assert!(world.ledger.record(&new.lease_token(), &key, &json!("paid again"), true, &[]).await.unwrap());
    assert!(!world.ledger.record(&old.lease_token(), &key, &json!("a zombie's"), true, &[]).await.unwrap());
    assert_eq!(world.ledger.recall(&new.lease_token(), &key).await.unwrap(), Some(json!("paid again")));
}

#[tokio::test]
async fn claim_delivery_of_a_poisoned_job_wakes_the_delivery_dispatchers() {
    let world = World::new().await;
    world.endpoint(&world.ann, "e", &[records::EventKind::ConversationFailed]).await;
    let claimed = world.claimed("c").await;
    world.run("update finalization_jobs set crashes = 4, version = version + 1").await;
    world.age(&claimed.job.id, chrono::Duration::seconds(31)).await;

    let (generation, worker) = (claimed.job.generation, crate::world::worker("w"));
    assert!(!world.is_woken());
    let (answer, run) =
        parts(world.ledger.claim_delivery(&claimed.job.id, generation, &worker).await.unwrap());

    assert_eq!((answer, run), ("dead_letter", None));
    assert!(matches!(
        world.job(&claimed.job.id).await.state,
        State::DeadLetter { code: FailureCode::PoisonCrash }
    ));
    assert!(world.is_woken());
}
