//! What ends a run, and what holds it (DESIGN §6).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod fakes;

use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use fakes::*;
use futures::{FutureExt, future::BoxFuture};
use job::FailureCode;
use stages::*;
use tokio::sync::Notify;

const WORDS: &str = "Tomorrow we will paint the old boat at last.";

#[tokio::test]
async fn lost_lease_ends_the_run_without_writing() {
    let (fake, memory) = (Arc::new(Fake::default()), Memory::default());
    memory.lease_lost.store(true, Ordering::SeqCst);

    let lost = finalize_with(&fake, &memory, &material(WORDS), false).await;

    assert_eq!(lost, Err(Interrupted::LeaseLost));
    assert!(memory.stages().is_empty());
    assert_eq!(fake.called("judge"), 0, "nothing is paid for by a run that cannot keep it");
}

/// Loses the lease while the parallel stages run.
struct LosesTheLease<'a>(&'a Memory);

impl Observer for LosesTheLease<'_> {
    fn stage_started(&self, _: StageName) {}
    fn stage_done(&self, stage: StageName, _: Duration, _: bool) -> BoxFuture<'_, ()> {
        if stage == "describe" {
            self.0.lease_lost.store(true, Ordering::SeqCst);
        }
        async {}.boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn lost_lease_outweighs_a_failure() {
    let mut fake = Fake::default().fails("items", &[FailureCode::ModelTimeout]);
    fake.delays = HashMap::from([("embed", Duration::from_secs(1))]);
    let (fake, memory, material) = (Arc::new(fake), Memory::default(), material(WORDS));
    let observer = LosesTheLease(&memory);

    let run = Run::new(&memory, &observer, &material.talk);
    let ended = finalize(&run, &Stages::new(fake.engines()), &material, true).await;

    assert_eq!(
        ended,
        Err(Interrupted::LeaseLost),
        "a failure of a job that is not ours is not ours to report"
    );
}

#[tokio::test]
async fn refused_key_outweighs_other_failures() {
    let fake = Fake::default().fails("describe", &[FailureCode::ModelTimeout]);
    let fake = Arc::new(fake.fails("embed", &[FailureCode::ByokKeyRejected]));

    let ended = finalize_with(&fake, &Memory::default(), &material(WORDS), true).await;

    assert_eq!(ended, Err(FailureCode::ByokKeyRejected.into()), "the job must be parked");
}

/// Asks the process to stop after a stage.
struct StopsAfter<'a>(&'a Memory, StageName);

impl Observer for StopsAfter<'_> {
    fn stage_started(&self, _: StageName) {}
    fn stage_done(&self, stage: StageName, _: Duration, _: bool) -> BoxFuture<'_, ()> {
        self.0.stopping.fetch_or(stage == self.1, Ordering::SeqCst);
        async {}.boxed()
    }
}

#[tokio::test]
async fn soft_stop_ends_the_run_at_a_checkpoint() {
    let (fake, memory, material) = (Arc::new(Fake::default()), Memory::default(), material(WORDS));
    let observer = StopsAfter(&memory, "detect_discard");

    let run = Run::new(&memory, &observer, &material.talk);
    let ended = finalize(&run, &Stages::new(fake.engines()), &material, false).await;
    assert_eq!(ended, Err(Interrupted::Stopping));
    assert_eq!(memory.stages(), ["detect_discard", "read_context"]);

    memory.stopping.store(false, Ordering::SeqCst);
    kept(finalize_with(&fake, &memory, &material, false).await);
    assert_eq!(fake.called("judge"), 1);
}

/// Asks the process to stop when a stage fails.
struct StopsAtAFailure<'a>(&'a Memory);

impl Observer for StopsAtAFailure<'_> {
    fn stage_started(&self, _: StageName) {}
    fn stage_done(&self, _: StageName, _: Duration, _: bool) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
    fn stage_failed(&self, _: StageName, _: Duration, _: FailureCode) {
        self.0.stopping.store(true, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn soft_stop_outweighs_a_retryable_failure() {
    let closed = Failure::while_open(FailureCode::ModelUnavailable, Duration::from_secs(30));
    for failure in [FailureCode::ModelTimeout.into(), closed] {
        let fake = Arc::new(Fake::default().fails_with("describe", &[failure]));
        let (memory, material) = (Memory::default(), material(WORDS));
        let observer = StopsAtAFailure(&memory);

        let run = Run::new(&memory, &observer, &material.talk);
        let ended = finalize(&run, &Stages::new(fake.engines()), &material, true).await;

        assert_eq!(ended, Err(Interrupted::Stopping), "{failure:?}");
    }
}

/// Holds the run after `describe` until the test lets it go on.
#[derive(Default)]
struct Holds {
    reached: Notify,
    go_on: Notify,
}

impl Observer for Holds {
    fn stage_started(&self, _: StageName) {}
    fn stage_done(&self, stage: StageName, _: Duration, _: bool) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if stage == "describe" {
                self.reached.notify_one();
                self.go_on.notified().await;
            }
        })
    }
}

#[tokio::test]
async fn observer_can_pause_a_spawned_run_between_stages() {
    let (fake, memory, holds) =
        (Arc::new(Fake::default()), Arc::new(Memory::default()), Arc::new(Holds::default()));
    let running = tokio::spawn({
        let (fake, memory, holds) = (fake.clone(), memory.clone(), holds.clone());
        async move {
            let context = Context { apps: vec!["minutes".to_owned()], ..context() };
            let material = Material { context, ..material(WORDS) };
            let run = Run::new(&*memory, &*holds, &material.talk);
            finalize(&run, &Stages::new(fake.engines()), &material, false).await
        }
    });

    holds.reached.notified().await;
    assert!(memory.stages().contains(&"describe"), "what is done is recorded before the hold");
    assert_eq!(fake.called("minutes"), 0);
    holds.go_on.notify_one();
    assert_eq!(kept(running.await.unwrap()).apps.len(), 1);
}

#[tokio::test]
async fn open_circuit_outweighs_a_retryable_failure() {
    let wait = Duration::from_secs(30);
    let closed = Failure::while_open(FailureCode::ModelUnavailable, wait);
    let fake = Fake::default().fails("describe", &[FailureCode::ModelMalformed]);
    let fake = Arc::new(fake.fails_with("items", &[closed]));

    let ended = finalize_with(&fake, &Memory::default(), &material(WORDS), true).await;

    assert_eq!(ended, Err(Interrupted::Failed(closed)), "it costs no attempt");
}

#[tokio::test]
async fn longest_of_several_retry_delays_is_kept() {
    let asked = |seconds| Failure::after(FailureCode::ModelRateLimited, Some(Duration::from_secs(seconds)));
    let fake = Fake::default().fails_with("describe", &[asked(5)]).fails_with("items", &[asked(90)]);
    let fake = Arc::new(fake.fails_with("memories", &[asked(7)]));

    let ended = finalize_with(&fake, &Memory::default(), &material(WORDS), true).await;

    assert_eq!(ended, Err(Interrupted::Failed(asked(90))));
}
