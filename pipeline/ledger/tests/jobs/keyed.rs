//! Who must bring own keys, and who has brought some: every way in leads to a job that no other claim may have.

use std::time::Duration;

use job::{JobId, Queue, State};
use ledger::{CreateOutcome, FinalizeOutcome, NamedClaim, NewConversation, WithKeys};
use records::ConversationId;
use store::UserChange;

use crate::world::{World, olga, parts, said, talk, worker};

/// The four ways in.
const WAYS: [&str; 4] = ["create", "create again", "finalize", "reprocess"];

/// Brings a conversation to where `way` can admit it.
async fn prepared(world: &World, way: &str) -> ConversationId {
    let id = ConversationId::new("c");
    match way {
        "create" => {}
        "finalize" => {
            let new = NewConversation { deferred: true, ..session() };
            world.ledger.create_conversation(&world.ann, new).await.unwrap();
            world.ledger.store().append_segments(&world.ann, &id, &[said("s")]).await.unwrap().unwrap();
        }
        _ => {
            world.ledger.create_conversation(&world.ann, session()).await.unwrap();
            let run = world.claim(&JobId::derive("ann", "c", 1)).await;
            let code = job::FailureCode::InvalidJob;
            world.fail(&run, code).await;
        }
    }
    id
}

fn session() -> NewConversation {
    NewConversation { client_session_id: Some("s".into()), ..talk("c") }
}

/// Admits by `way`; the job, and whether it was leased at once.
async fn admit(world: &World, way: &str, keys: Option<WithKeys<'_>>) -> (JobId, bool) {
    prepared(world, way).await;
    admit_prepared(world, way, keys).await
}

async fn admit_prepared(world: &World, way: &str, keys: Option<WithKeys<'_>>) -> (JobId, bool) {
    let (ledger, ann, id) = (&world.ledger, &world.ann, ConversationId::new("c"));
    if way == "finalize" {
        return match keys {
            None => (ledger.finalize(ann, &id, None).await.unwrap().unwrap().job.unwrap(), false),
            Some(keys) => {
                let FinalizeOutcome { job, claimed, .. } =
                    ledger.finalize_with_keys(ann, &id, None, keys).await.unwrap().unwrap();
                (job.unwrap(), claimed.is_some())
            }
        };
    }
    let admitted = match (way, keys) {
        ("reprocess", keys) => ledger.reprocess(ann, &id, keys).await.unwrap().unwrap(),
        (_, keys) => {
            let created = match keys {
                None => ledger.create_conversation(ann, session()).await.unwrap(),
                Some(keys) => ledger.create_conversation_with_keys(ann, session(), keys).await.unwrap(),
            };
            match created {
                CreateOutcome::Admitted(admitted) => admitted,
                other => panic!("{way}: {other:?}"),
            }
        }
    };
    (admitted.job_id, admitted.claimed.is_some())
}

/// No claim without keys ever gets it.
async fn is_out_of_reach(world: &World, job: &JobId, way: &str) {
    let stored = world.job(job).await;
    assert_eq!((stored.state.clone(), stored.requires_keys), (State::BlockedByok, true), "{way}");
    let (answer, claimed) =
        parts(world.ledger.claim_delivery(job, stored.generation, &worker("w")).await.unwrap());
    assert_eq!((answer, claimed), ("blocked_byok", None), "{way}");
}

#[tokio::test]
async fn the_jobs_of_a_marked_person_wait_for_keys() {
    for way in WAYS.into_iter().filter(|way| *way != "reprocess") {
        let world = World::new().await;
        prepared(&world, way).await;
        let marked = UserChange { requires_byok: Some(true), ..UserChange::default() };
        world.ledger.change_user(&world.ann, &marked).await.unwrap().unwrap();
        let job = match way {
            "finalize" => {
                let id = ConversationId::new("c");
                world.ledger.finalize(&world.ann, &id, None).await.unwrap().unwrap().job.unwrap()
            }
            _ => match world.ledger.create_conversation(&world.ann, session()).await.unwrap() {
                CreateOutcome::Admitted(admitted) => admitted.job_id,
                other => panic!("{way}: {other:?}"),
            },
        };
        is_out_of_reach(&world, &job, way).await;
    }
}

#[tokio::test]
async fn what_came_with_keys_and_found_no_slot_waits_for_whoever_holds_them() {
    for way in WAYS {
        let world = World::new().await;
        let (job, leased) = admit(&world, way, Some(WithKeys { claimant: None })).await;
        assert!(!leased, "{way}");
        is_out_of_reach(&world, &job, way).await;
        if way == "reprocess" {
            let again = world.ledger.reprocess(&world.ann, &ConversationId::new("c"), None).await.unwrap();
            assert_eq!(again.unwrap_err(), ledger::ReprocessRefusal::KeysRequired, "and not the service's");
        }
        let granted = world.ledger.claim_with_keys(&job, &worker("k")).await.unwrap();
        assert!(matches!(granted, NamedClaim::Granted { retry: false, .. }), "{way}: {granted:?}");
    }
}

#[tokio::test]
async fn what_came_with_keys_and_found_a_slot_is_leased_in_the_same_commit() {
    for way in WAYS {
        let world = World::new().await;
        let claimant = worker("k");
        let (job, leased) = admit(&world, way, Some(WithKeys { claimant: Some(&claimant) })).await;
        let stored = world.job(&job).await;
        assert!(leased && stored.requires_keys, "{way}");
        assert!(matches!(stored.state, State::Leased(lease) if lease.worker == claimant), "{way}");
    }
}

#[tokio::test]
async fn while_a_queue_is_paused_keys_claim_nothing_from_it() {
    for way in WAYS {
        let world = World::new().await;
        prepared(&world, way).await;
        for queue in [Queue::Creation, Queue::Finalization] {
            assert!(world.operations().pause(queue, &olga()).await.unwrap());
        }
        let claimant = worker("k");
        let (job, leased) = admit_prepared(&world, way, Some(WithKeys { claimant: Some(&claimant) })).await;
        assert!(!leased, "{way}");
        is_out_of_reach(&world, &job, way).await;
        let asked = async || world.ledger.claim_with_keys(&job, &claimant).await.unwrap();
        assert_eq!(asked().await, NamedClaim::NotYet(Duration::from_secs(4)), "{way}");

        let queue = world.job(&job).await.queue;
        let other = if queue == Queue::Creation { Queue::Finalization } else { Queue::Creation };
        assert!(world.operations().resume(queue, &olga()).await.unwrap());
        let granted = asked().await;
        assert!(
            matches!(granted, NamedClaim::Granted { retry: false, .. }),
            "{way}: {granted:?}, {other} is paused"
        );
    }
}

#[tokio::test]
async fn keys_that_have_nothing_more_to_do_learn_it_from_a_paused_queue() {
    let world = World::new().await;
    let claimant = worker("k");
    let (job, _) = admit(&world, "create", Some(WithKeys { claimant: None })).await;
    world.ledger.delete_conversation(&world.ann, &ConversationId::new("c")).await.unwrap();
    assert!(world.operations().pause(Queue::Creation, &olga()).await.unwrap());
    let over = NamedClaim::Over("completed");
    assert_eq!(world.ledger.claim_with_keys(&job, &claimant).await.unwrap(), over);
}

#[tokio::test]
async fn keys_claim_nothing_that_requires_none() {
    let world = World::new().await;
    let (job, _) = admit(&world, "create", None).await;
    let refused = world.ledger.claim_with_keys(&job, &worker("k")).await.unwrap();
    assert_eq!(refused, NamedClaim::Over("not_keyed"));
    assert_eq!(world.job(&job).await.state.status(), "queued");
}
