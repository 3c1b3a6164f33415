//! What a client sees of a conversation's processing: the newest job of its own conversation, while that is there.

use job::{Cause, ErrorClass, FailureCode, JobId, Outcome};
use ledger::Transition;
use records::{ConversationId, UserId};

use crate::locks::is_free_while;
use crate::street::{Street, c, results};
use crate::world::{World, completion};

async fn polled(street: &Street, user: &UserId, id: &str) -> Option<JobId> {
    let poll = street.world.ledger.poll(user, &ConversationId::new(id)).await.unwrap();
    poll.map(|poll| poll.job_id)
}

#[tokio::test]
async fn a_poll_shows_the_newest_job_of_its_own_conversation() {
    let street = Street::new().await;
    let dead = street.dead().await;
    for ((user, id), run) in street.all().into_iter().zip(&dead) {
        assert_eq!(polled(&street, user, id).await.as_ref(), Some(&run.job.id));
    }
    for (user, id) in street.all() {
        let again = street.world.ledger.reprocess(user, &ConversationId::new(id), None).await;
        let newest = again.unwrap().unwrap().job_id;
        assert_eq!(polled(&street, user, id).await, Some(newest));
    }
    assert_eq!(polled(&street, &street.bob, "d").await, None);
}

#[tokio::test]
async fn failed_runs_and_crashes_are_retries_both() {
    let world = World::new().await;
    world.admitted("c").await;
    world.run("update finalization_jobs set attempts = 2, crashes = 1, version = version + 1").await;
    let poll = world.ledger.poll(&world.ann, &c()).await.unwrap().unwrap();
    assert_eq!(poll.task_retry_count, 3);
}

#[tokio::test]
async fn what_a_completed_job_came_to_is_shown() {
    let world = World::new().await;
    for (id, outcome, shown) in [("a", Outcome::Kept, "kept"), ("b", Outcome::Discarded, "discarded")] {
        let run = world.claimed(id).await;
        assert_eq!(world.ledger.poll(&world.ann, &run.conversation_id).await.unwrap().unwrap().outcome, None);
        world.ledger.complete(&completion(&run, outcome, Default::default())).await.unwrap();
        let poll = world.ledger.poll(&world.ann, &run.conversation_id).await.unwrap().unwrap();
        assert_eq!((poll.status, poll.outcome, poll.failure_code), ("completed", Some(shown), None));
    }
}

#[tokio::test]
async fn the_cause_of_a_release_and_of_a_failure_is_shown_until_something_else_happens() {
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
    assert_eq!((dead.status, dead.cause, dead.can_finalize_again), ("dead_letter", None, true));
}

#[tokio::test]
async fn of_a_conversation_that_is_gone_nothing_is_shown() {
    let street = Street::new().await;
    street.admitted().await;
    assert!(street.world.ledger.delete_conversation(&street.world.ann, &c()).await.unwrap());
    assert_eq!(polled(&street, &street.world.ann, "c").await, None);
    assert!(polled(&street, &street.bob, "c").await.is_some());
}

#[tokio::test]
async fn a_completion_holds_its_own_person_and_nobody_else() {
    let street = Street::new().await;
    let runs = street.claimed().await;
    let (ledger, run) = (street.world.ledger.clone(), runs[0].clone());
    let verb = async move {
        ledger.complete(&completion(&run, job::Outcome::Kept, Default::default())).await.unwrap()
    };
    let held = "select from finalization_jobs for update";
    let bob = "select from users where user_id = 'bob' for no key update nowait";
    let (free, _) = is_free_while(&street.world, held, verb, bob).await;
    assert!(free);
}

#[tokio::test]
async fn a_completion_holds_its_own_conversation_and_no_other() {
    for probe in [
        "select from conversations where user_id = 'bob' for no key update nowait",
        "select from conversations where conversation_id = 'd' for no key update nowait",
    ] {
        let street = Street::new().await;
        let runs = street.claimed().await;
        let (ledger, run) = (street.world.ledger.clone(), runs[0].clone());
        let verb = async move {
            ledger.complete(&completion(&run, job::Outcome::Kept, results("First", &run))).await.unwrap()
        };
        // The conversation is written by then, and its things are not.
        let held = "lock table memories in share mode";
        let (free, _) = is_free_while(&street.world, held, verb, probe).await;
        assert!(free, "{probe}");
    }
}
