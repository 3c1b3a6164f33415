//! What operators see of a lease that is not renewed: its next owner, or that no process lives to be one.

use job::{JobId, NextOwner, Queue, Why};
use ledger::ClaimRequest;
use operations::{Process, RunCounts};

use crate::world::{World, process, wanted, worker};

const NOT_SEEN: &str = "update service_processes set seen_at = now() - interval '12 seconds'";

async fn seen(world: &World, process: &Process) {
    world.operations().report_process(process, &RunCounts::default()).await.unwrap();
}

async fn why(world: &World, job: &JobId) -> Why {
    world.operations().job_page(job).await.unwrap().unwrap().why
}

/// A job whose lease is held by the process `host:1`, which was just seen.
async fn held(world: &World) -> JobId {
    let job = world.admitted("a").await;
    seen(world, &process("host:1", 1)).await;
    world
        .ledger
        .claim(&ClaimRequest { worker: worker("host:1/creation"), ..wanted(Queue::Creation, 1) })
        .await
        .unwrap();
    job
}

#[tokio::test]
async fn a_silent_holder_is_told_while_its_lease_is_valid_and_does_not_inherit_from_itself() {
    let world = World::new().await;
    let job = held(&world).await;
    assert_eq!(why(&world, &job).await.guard(), "running");
    world.run(NOT_SEEN).await;
    let alone = why(&world, &job).await;
    assert!(matches!(alone, Why::HolderSilent { next_owner: NextOwner::NoProcess, .. }), "{alone}");
    seen(&world, &process("host:2", 1)).await;
    let with_another = why(&world, &job).await;
    assert!(
        matches!(with_another, Why::HolderSilent { next_owner: NextOwner::Worker, .. }),
        "{with_another}"
    );
}

#[tokio::test]
async fn who_took_its_leave_is_not_seen_and_still_renews() {
    let world = World::new().await;
    let job = held(&world).await;
    seen(&world, &Process { stopping: true, ..process("host:1", 1) }).await;
    world.run(NOT_SEEN).await;
    assert_eq!(why(&world, &job).await.guard(), "running");
}

#[tokio::test]
async fn a_lease_whose_process_has_ended_is_not_called_running() {
    let world = World::new().await;
    let job = held(&world).await;
    world.operations().forget_process("host:1").await.unwrap();
    assert_eq!(why(&world, &job).await.guard(), "running", "who has only claimed may not have been seen yet");
    world.run("update finalization_jobs set lease_claimed_at = now() - interval '12 seconds'").await;
    let gone = why(&world, &job).await;
    assert!(matches!(gone, Why::HolderGone { next_owner: NextOwner::NoProcess, .. }), "{gone}");
}

#[tokio::test]
async fn an_expired_lease_is_promised_to_those_alone_who_live() {
    let world = World::new().await;
    let job = held(&world).await;
    world.age(&job, chrono::Duration::minutes(1)).await;
    let heir = async || match why(&world, &job).await {
        Why::LeaseExpired { next_owner, .. } => next_owner,
        other => panic!("{other}"),
    };
    assert_eq!(heir().await, NextOwner::Worker, "the holder itself was seen: it may take it again");
    world.run(NOT_SEEN).await;
    seen(&world, &process("host:2", 0)).await;
    assert_eq!(heir().await, NextOwner::NoWorker);
    world.operations().forget_process("host:2").await.unwrap();
    assert_eq!(heir().await, NextOwner::NoProcess);
}
