//! Hand-over of jobs to a task queue, and what the reconciler asks it about.

use std::time::Duration;

use job::{Dispatch, Generation, Job, JobId, Queue, State};
use ledger::Answer;
use outbox::HandOver;

use crate::world::{World, olga, worker};

/// Longer than a claimed hand-over is held.
const LATER: &str = "update finalization_jobs set hand_after = hand_after - interval '31 seconds'";

impl World {
    /// A queued finalization of Ann's.
    async fn finalized(&self, id: &str) -> JobId {
        let conversation = self.deferred(id).await;
        let job =
            self.ledger.finalize(&self.ann, &conversation, None, None).await.unwrap().unwrap().job.unwrap();
        assert_eq!(self.job(&job).await.queue, Queue::Finalization);
        job
    }

    /// The hand-overs that a dispatcher claims now.
    async fn claim_hand_overs(&self) -> Vec<HandOver> {
        self.ledger.outbox().claim_hand_overs(16).await.unwrap()
    }
}

#[tokio::test]
async fn hand_over_is_repeated_until_the_task_queue_has_it() {
    let world = World::new().await;
    let job = world.finalized("one").await;
    world.admitted("a create").await;

    let hand_overs = world.claim_hand_overs().await;
    assert_eq!(hand_overs.len(), 1, "creates are not handed over");
    let first = &hand_overs[0];
    assert_eq!((&first.job_id, first.generation, first.dispatch), (&job, Generation(1), Dispatch(1)));
    assert_eq!((first.tries, first.delay), (1, chrono::Duration::zero()));
    assert!(world.claim_hand_overs().await.is_empty(), "another process has claimed it");

    // That process died.
    world.run(LATER).await;
    let again = world.claim_hand_overs().await;
    assert_eq!((again[0].dispatch, again[0].tries), (Dispatch(1), 2));
    world.ledger.outbox().handed_over(&again).await.unwrap();
    world.run(LATER).await;
    assert!(world.claim_hand_overs().await.is_empty());
}

#[tokio::test]
async fn every_new_dispatch_is_handed_over_with_its_delay() {
    let world = World::new().await;
    let job = world.finalized("one").await;
    world.ledger.outbox().handed_over(&world.claim_hand_overs().await).await.unwrap();
    let claimed = world.claim(&job).await;
    let transition = ledger::Transition::Release { delay: chrono::Duration::seconds(90) };
    world.ledger.settle(&claimed.lease_token(), transition, None).await.unwrap();

    let hand_overs = world.claim_hand_overs().await;

    assert_eq!(
        (hand_overs[0].generation, hand_overs[0].dispatch, hand_overs[0].tries),
        (Generation(1), Dispatch(2), 1)
    );
    let delay = hand_overs[0].delay.num_seconds();
    assert!((85..=90).contains(&delay), "{delay}");
    // The acknowledgement of the first dispatch comes late: it changes nothing.
    let old = HandOver { dispatch: Dispatch(1), ..hand_overs[0].clone() };
    world.ledger.outbox().handed_over(&hand_overs).await.unwrap();
    world.ledger.outbox().handed_over(&[old]).await.unwrap();
    assert_eq!(world.count("select handed_dispatch from finalization_jobs").await, 2);
}

#[tokio::test]
async fn refused_hand_over_waits_and_a_newer_dispatch_does_not() {
    let world = World::new().await;
    let job = world.finalized("one").await;
    let hand_overs = world.claim_hand_overs().await;
    let failed = [(hand_overs[0].clone(), Duration::from_secs(600))];
    world.ledger.outbox().hand_over_failed(&failed).await.unwrap();
    world.run(LATER).await;
    assert!(world.claim_hand_overs().await.is_empty(), "ten minutes are not over");

    // A task delivery ran it all the same, and released it.
    let claimed = world.claim(&job).await;
    world.release(&claimed).await;
    world.run("update finalization_jobs set hand_after = null").await;
    world.ledger.outbox().hand_over_failed(&failed).await.unwrap();
    assert_eq!(
        world.claim_hand_overs().await[0].dispatch,
        Dispatch(2),
        "the refusal was about another dispatch"
    );
}

#[tokio::test]
async fn concurrent_dispatchers_claim_each_hand_over_once() {
    let world = World::new().await;
    for number in 0..12 {
        world.finalized(&format!("c{number}")).await;
    }
    let (one, other) = (world.other_process(), world.other_process());
    let barrier = tokio::sync::Barrier::new(2);
    let take = async |ledger: &ledger::Ledger| {
        barrier.wait().await;
        ledger.outbox().claim_hand_overs(16).await.unwrap()
    };
    let (one, other) = tokio::join!(take(&one), take(&other));
    let mut jobs: Vec<JobId> = one.into_iter().chain(other).map(|hand_over| hand_over.job_id).collect();
    jobs.extend(world.claim_hand_overs().await.into_iter().map(|hand_over| hand_over.job_id));
    assert_eq!(jobs.len(), 12, "each once");
    jobs.sort();
    jobs.dedup();
    assert_eq!(jobs.len(), 12);
}

#[tokio::test]
async fn paused_queue_hands_nothing_over_and_refuses_task_deliveries() {
    let world = World::new().await;
    let job = world.finalized("one").await;
    world.operations().pause(Queue::Finalization, &olga()).await.unwrap();
    assert!(world.claim_hand_overs().await.is_empty());
    assert_eq!(world.ledger.outbox().oldest_unhanded().await.unwrap(), Default::default());
    let delivery = world.ledger.claim_delivery(&job, Generation(1), &worker("w")).await.unwrap();
    assert_eq!(delivery, ledger::NamedClaim::NotYet(Duration::from_secs(60)));
    world.operations().resume(Queue::Finalization, &olga()).await.unwrap();
    assert_eq!(world.claim_hand_overs().await.len(), 1);
    assert!(world.ledger.outbox().oldest_unhanded().await.unwrap().tries == 1);
}

#[tokio::test]
async fn reconcile_task_dispatches_a_lost_task_again() {
    let world = World::new().await;
    let (waits, lost) = (world.finalized("waits").await, world.finalized("lost").await);
    let unhanded = world.finalized("unhanded").await;
    let hand_overs = world.claim_hand_overs().await;
    let handed: Vec<HandOver> =
        hand_overs.into_iter().filter(|hand_over| hand_over.job_id != unhanded).collect();
    world.ledger.outbox().handed_over(&handed).await.unwrap();
    assert!(world.ledger.outbox().due_tasks(None, 9).await.unwrap().found.is_empty(), "nothing is due yet");
    for job in [&waits, &lost, &unhanded] {
        world.age(job, chrono::Duration::minutes(6)).await;
    }

    let due = world.ledger.outbox().due_tasks(None, 9).await.unwrap().found;

    let mut jobs: Vec<&JobId> = due.iter().map(|task| &task.job_id).collect();
    jobs.sort();
    let mut expected = vec![&waits, &lost];
    expected.sort();
    assert_eq!(jobs, expected, "a job that was never handed over cannot be lost");
    let dispatch = due[0].dispatch;
    world.ledger.reconcile_task(&waits, dispatch, true).await.unwrap();
    let answer = world.ledger.reconcile_task(&lost, dispatch, false).await.unwrap();
    assert!(
        matches!(answer, Answer::Granted { job: Job { state: State::Queued { .. }, .. }, .. }),
        "{answer:?}"
    );
    let dispatched = async |job| {
        let job = world.job(job).await;
        (job.generation, job.dispatch)
    };
    assert_eq!(dispatched(&waits).await, (Generation(1), Dispatch(1)));
    assert_eq!(dispatched(&lost).await, (Generation(2), Dispatch(2)));
    assert!(world.ledger.outbox().due_tasks(None, 9).await.unwrap().found.is_empty());
    assert_eq!(world.claim_hand_overs().await.len(), 1, "the lost one has a new task");
    // An answer about the old dispatch comes late.
    world.age(&lost, chrono::Duration::minutes(6)).await;
    let late = world.ledger.reconcile_task(&lost, dispatch, false).await.unwrap();
    assert_eq!(late, Answer::Refused(job::Refusal::NotDue));
}

#[tokio::test]
async fn hand_over_and_claim_of_one_job_do_not_undo_each_other() {
    let world = World::new().await;
    let job = world.finalized("one").await;
    let hand_overs = world.claim_hand_overs().await;
    // The task was delivered before its creation was recorded.
    let claimed = world.claim(&job).await;
    world.ledger.outbox().handed_over(&hand_overs).await.unwrap();
    assert_eq!(world.job(&job).await.state, claimed.job.state);
    assert_eq!(world.count("select handed_dispatch from finalization_jobs").await, 1);
    let transition = ledger::Transition::Release { delay: chrono::Duration::zero() };
    let released = world.ledger.settle(&claimed.lease_token(), transition, None).await.unwrap();
    assert!(matches!(released, Answer::Granted { .. }), "{released:?}");
}

#[tokio::test]
async fn why_shows_not_handed_over_and_in_task_queue() {
    let world = World::new().await;
    let job = world.finalized("one").await;
    world.has_process().await;
    let why = async || world.operations().job_page(&job).await.unwrap().unwrap().why;
    assert_eq!(why().await, job::Why::NothingWrong);
    let hand_overs = world.claim_hand_overs().await;
    assert_eq!(why().await, job::Why::NotHandedOver { tries: 1 });
    world.ledger.outbox().handed_over(&hand_overs).await.unwrap();
    assert!(matches!(why().await, job::Why::InTaskQueue { .. }));
}
