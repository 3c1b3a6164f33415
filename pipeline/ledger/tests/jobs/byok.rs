//! Users' own keys (BYOK): every kind of admission leads to a job that no claim without keys may get.

use std::time::Duration;

use job::{JobId, Queue, State};
use ledger::{CreateOutcome, FinalizeOutcome, NamedClaim, NewConversation, WithKeys};
use records::ConversationId;
use store::UserChange;

use crate::world::{World, new_conversation, olga, parts, segment, worker};

/// The four kinds of admission.
const ADMISSIONS: [&str; 4] = ["create", "create again", "finalize", "reprocess"];

/// Prepares a conversation for an admission by `way`.
async fn prepared(world: &World, way: &str) -> ConversationId {
    let id = ConversationId::new("c");
    match way {
        "create" => {}
        "finalize" => {
            let new = NewConversation { deferred: true, ..session() };
            world.ledger.create_conversation(&world.ann, new, None).await.unwrap();
            world.ledger.store().append_segments(&world.ann, &id, &[segment("s")]).await.unwrap().unwrap();
        }
        _ => {
            world.ledger.create_conversation(&world.ann, session(), None).await.unwrap();
            let run = world.claim(&JobId::derive("ann", "c", 1)).await;
            let code = job::FailureCode::InvalidJob;
            world.fail(&run, code).await;
        }
    }
    id
}

fn session() -> NewConversation {
    NewConversation { client_session_id: Some("s".into()), ..new_conversation("c") }
}

/// Admits by `way`; returns the job, and whether it was leased at once.
async fn admit(world: &World, way: &str, keys: Option<WithKeys<'_>>) -> (JobId, bool) {
    prepared(world, way).await;
    admit_prepared(world, way, keys).await
}

async fn admit_prepared(world: &World, way: &str, keys: Option<WithKeys<'_>>) -> (JobId, bool) {
    let (ledger, ann, id) = (&world.ledger, &world.ann, ConversationId::new("c"));
    if way == "finalize" {
        return match keys {
            None => (ledger.finalize(ann, &id, None, None).await.unwrap().unwrap().job.unwrap(), false),
            Some(keys) => {
                let FinalizeOutcome { job, claimed, .. } =
                    ledger.finalize(ann, &id, None, Some(keys)).await.unwrap().unwrap();
                (job.unwrap(), claimed.is_some())
            }
        };
    }
    let admitted = match (way, keys) {
        ("reprocess", keys) => ledger.reprocess(ann, &id, keys).await.unwrap().unwrap(),
        (_, keys) => {
            let created = match keys {
                None => ledger.create_conversation(ann, session(), None).await.unwrap(),
                Some(keys) => ledger.create_conversation(ann, session(), Some(keys)).await.unwrap(),
            };
            match created {
                CreateOutcome::Admitted(admitted) => admitted,
                other => panic!("{way}: {other:?}"),
            }
        }
    };
    (admitted.job_id, admitted.claimed.is_some())
}

/// Asserts that no claim without keys gets the job.
async fn assert_not_claimable_without_keys(world: &World, job: &JobId, way: &str) {
    let stored = world.job(job).await;
    assert_eq!((stored.state.clone(), stored.requires_keys), (State::BlockedByok, true), "{way}");
    let (answer, claimed) =
        parts(world.ledger.claim_delivery(job, stored.generation, &worker("w")).await.unwrap());
    assert_eq!((answer, claimed), ("blocked_byok", None), "{way}");
}

#[tokio::test]
async fn jobs_of_a_user_who_requires_byok_wait_for_keys() {
    for way in ADMISSIONS.into_iter().filter(|way| *way != "reprocess") {
        let world = World::new().await;
        prepared(&world, way).await;
        let marked = UserChange { requires_byok: Some(true), ..UserChange::default() };
        world.ledger.change_user(&world.ann, &marked).await.unwrap().unwrap();
        let job = match way {
            "finalize" => {
                let id = ConversationId::new("c");
                world.ledger.finalize(&world.ann, &id, None, None).await.unwrap().unwrap().job.unwrap()
            }
            _ => match world.ledger.create_conversation(&world.ann, session(), None).await.unwrap() {
                CreateOutcome::Admitted(admitted) => admitted.job_id,
                other => panic!("{way}: {other:?}"),
            },
        };
        assert_not_claimable_without_keys(&world, &job, way).await;
    }
}

#[tokio::test]
async fn admission_with_keys_without_a_slot_waits_for_a_claim_with_keys() {
    for way in ADMISSIONS {
        let world = World::new().await;
        let (job, leased) = admit(&world, way, Some(WithKeys { claimant: None })).await;
        assert!(!leased, "{way}");
        assert_not_claimable_without_keys(&world, &job, way).await;
        if way == "reprocess" {
            let again = world.ledger.reprocess(&world.ann, &ConversationId::new("c"), None).await.unwrap();
            assert_eq!(again.unwrap_err(), ledger::ReprocessRefusal::KeysRequired, "and not the service's");
        }
        let granted = world.ledger.claim_with_keys(&job, &worker("k")).await.unwrap();
        assert!(matches!(granted, NamedClaim::Granted { retry: false, .. }), "{way}: {granted:?}");
    }
}

#[tokio::test]
async fn admission_with_keys_and_a_slot_is_leased_in_the_same_commit() {
    for way in ADMISSIONS {
        let world = World::new().await;
        let claimant = worker("k");
        let (job, leased) = admit(&world, way, Some(WithKeys { claimant: Some(&claimant) })).await;
        let stored = world.job(&job).await;
        assert!(leased && stored.requires_keys, "{way}");
        assert!(matches!(stored.state, State::Leased(lease) if lease.worker == claimant), "{way}");
    }
}

#[tokio::test]
async fn claim_with_keys_takes_nothing_from_a_paused_queue() {
    for way in ADMISSIONS {
        let world = World::new().await;
        prepared(&world, way).await;
        for queue in [Queue::Creation, Queue::Finalization] {
            assert!(world.operations().pause(queue, &olga()).await.unwrap());
        }
        let claimant = worker("k");
        let (job, leased) = admit_prepared(&world, way, Some(WithKeys { claimant: Some(&claimant) })).await;
        assert!(!leased, "{way}");
        assert_not_claimable_without_keys(&world, &job, way).await;
        let claim = async || world.ledger.claim_with_keys(&job, &claimant).await.unwrap();
        assert_eq!(claim().await, NamedClaim::NotYet(Duration::from_secs(4)), "{way}");

        let queue = world.job(&job).await.queue;
        let other = if queue == Queue::Creation { Queue::Finalization } else { Queue::Creation };
        assert!(world.operations().resume(queue, &olga()).await.unwrap());
        let granted = claim().await;
        assert!(
            matches!(granted, NamedClaim::Granted { retry: false, .. }),
            "{way}: {granted:?}, {other} is paused"
        );
    }
}

#[tokio::test]
async fn claim_with_keys_of_a_completed_job_is_over_while_paused() {
    let world = World::new().await;
    let claimant = worker("k");
    let (job, _) = admit(&world, "create", Some(WithKeys { claimant: None })).await;
    world.ledger.delete_conversation(&world.ann, &ConversationId::new("c")).await.unwrap();
    assert!(world.operations().pause(Queue::Creation, &olga()).await.unwrap());
    assert_eq!(world.ledger.claim_with_keys(&job, &claimant).await.unwrap(), NamedClaim::Completed);
}

#[tokio::test]
async fn claim_with_keys_refuses_a_job_that_requires_none() {
    let world = World::new().await;
    let (job, _) = admit(&world, "create", None).await;
    let refused = world.ledger.claim_with_keys(&job, &worker("k")).await.unwrap();
    assert_eq!(refused, NamedClaim::Over("not_keyed"));
    assert_eq!(world.job(&job).await.state.status(), "queued");
}
