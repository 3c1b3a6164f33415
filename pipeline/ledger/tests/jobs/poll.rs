//! What a client polls: the newest job of its own conversation, while that exists.

use job::{Cause, ErrorClass, FailureCode, JobId, Outcome, State};
use ledger::Transition;
use records::{ConversationId, UserId};

use crate::three_conversations::{ThreeConversations, c};
use crate::world::{World, completion};

async fn polled(three: &ThreeConversations, user: &UserId, id: &str) -> Option<JobId> {
    let poll = three.world.ledger.poll(user, &ConversationId::new(id)).await.unwrap();
    poll.map(|poll| poll.stored.job.id)
}

#[tokio::test]
async fn poll_shows_the_newest_job_of_its_own_conversation() {
    let three = ThreeConversations::new().await;
    let dead = three.dead().await;
    for ((user, id), run) in three.all().into_iter().zip(&dead) {
        assert_eq!(polled(&three, user, id).await.as_ref(), Some(&run.job.id));
    }
    for (user, id) in three.all() {
        let again = three.world.ledger.reprocess(user, &ConversationId::new(id), None).await;
        let newest = again.unwrap().unwrap().job_id;
        assert_eq!(polled(&three, user, id).await, Some(newest));
    }
    assert_eq!(polled(&three, &three.bob, "d").await, None);
}

#[tokio::test]
async fn poll_counts_failed_runs_and_crashes_as_retries() {
    let world = World::new().await;
    world.admitted("c").await;
    world.run("update finalization_jobs set attempts = 2, crashes = 1, version = version + 1").await;
    let poll = world.ledger.poll(&world.ann, &c()).await.unwrap().unwrap();
    assert_eq!(poll.stored.job.retries(), 3);
}

#[tokio::test]
async fn poll_shows_the_outcome_of_a_completed_job() {
    let world = World::new().await;
    for (id, outcome) in [("a", Outcome::Kept), ("b", Outcome::Discarded)] {
        let run = world.claimed(id).await;
        let poll = async || world.ledger.poll(&world.ann, &run.conversation_id).await.unwrap().unwrap();
        assert_eq!(poll().await.stored.job.state.outcome(), None);
        world.ledger.complete(&completion(&run, outcome, Default::default())).await.unwrap();
        let job = poll().await.stored.job;
        assert_eq!((job.state.outcome(), job.failure_code()), (Some(outcome), None));
    }
}

#[tokio::test]
async fn poll_shows_the_cause_of_a_release_or_failure_until_the_next_one() {
    let world = World::new().await;
    let cause = Cause {
        code: FailureCode::ModelRejected,
        stage: Some("describe".to_owned()),
        class: Some(ErrorClass::KeyRejected),
        http_status: Some(401),
        circuit_open: false,
    };
    let run = world.claimed("a").await;
    let release = Transition::Release { delay: chrono::Duration::zero() };
    world.ledger.settle(&run.lease_token(), release, Some(&cause)).await.unwrap();
    let poll = async || world.ledger.poll(&world.ann, &run.conversation_id).await.unwrap().unwrap();
    assert_eq!(poll().await.cause, Some(cause.clone()));
    let again = world.claim(&run.job.id).await;
    assert_eq!(poll().await.cause, Some(cause), "a claim changes nothing about it");
    world.fail(&again, FailureCode::InvalidJob).await;
    let dead = poll().await;
    assert_eq!(dead.stored.job.state, State::DeadLetter { code: FailureCode::InvalidJob });
    assert_eq!((dead.cause, dead.can_finalize_again), (None, true));
}

#[tokio::test]
async fn poll_of_a_parked_job_says_that_a_finalize_can_resume_it() {
    let world = World::new().await;
    let id = world.deferred("c").await;
    world.run("update users set requires_byok = true").await;
    world.ledger.finalize(&world.ann, &id, None, None).await.unwrap().unwrap();
    let poll = world.ledger.poll(&world.ann, &id).await.unwrap().unwrap();
    assert_eq!((poll.stored.job.state.status(), poll.can_finalize_again), ("blocked_byok", true));
}

#[tokio::test]
async fn poll_shows_nothing_of_a_deleted_conversation() {
    let three = ThreeConversations::new().await;
    three.admitted().await;
    assert!(three.world.ledger.delete_conversation(&three.world.ann, &c()).await.unwrap());
    assert_eq!(polled(&three, &three.world.ann, "c").await, None);
    assert!(polled(&three, &three.bob, "c").await.is_some());
}
