//! What operators see of a lease that is not renewed: its next owner, or that no live process could take it over.

use job::{JobId, NextOwner, Queue, Why};
use ledger::ClaimRequest;
use operations::{Process, RunCounts};

use crate::world::{World, process, wanted, worker};

const NOT_SEEN: &str = "update service_processes set seen_at = now() - interval '12 seconds'";

async fn report(world: &World, process: &Process) {
    world.operations().report_process(process, &RunCounts::default()).await.unwrap();
}

async fn why(world: &World, job: &JobId) -> Why {
    world.operations().job_page(job).await.unwrap().unwrap().why
}

/// A job leased by the process `host:1`, which has just reported.
async fn leased(world: &World) -> JobId {
    let job = world.admitted("a").await;
    report(world, &process("host:1", 1)).await;
    world
        .ledger
        .claim(&ClaimRequest { worker: worker("host:1/creation"), ..wanted(Queue::Creation, 1) })
        .await
        .unwrap();
    job
}

#[tokio::test]
async fn why_shows_a_silent_lease_holder_and_another_process_as_next_owner() {
    let world = World::new().await;
    let job = leased(&world).await;
    assert_eq!(why(&world, &job).await.guard(), "running");
    world.run(NOT_SEEN).await;
    let alone = why(&world, &job).await;
    assert!(matches!(alone, Why::HolderSilent { next_owner: NextOwner::NoProcess, .. }), "{alone}");
    report(&world, &process("host:2", 1)).await;
    let with_another = why(&world, &job).await;
    assert!(
        matches!(with_another, Why::HolderSilent { next_owner: NextOwner::Worker, .. }),
        "{with_another}"
    );
}

#[tokio::test]
async fn why_shows_running_while_the_lease_holder_is_stopping() {
    let world = World::new().await;
    let job = leased(&world).await;
    report(&world, &Process { stopping: true, ..process("host:1", 1) }).await;
    world.run(NOT_SEEN).await;
    assert_eq!(why(&world, &job).await.guard(), "running");
}

#[tokio::test]
async fn why_shows_holder_gone_after_its_process_ended() {
    let world = World::new().await;
    let job = leased(&world).await;
    world.operations().forget_process("host:1").await.unwrap();
    assert_eq!(
        why(&world, &job).await.guard(),
        "running",
        "a process that just claimed may not have reported yet"
    );
    world.run("update finalization_jobs set lease_claimed_at = now() - interval '12 seconds'").await;
    let gone = why(&world, &job).await;
    assert!(matches!(gone, Why::HolderGone { next_owner: NextOwner::NoProcess, .. }), "{gone}");
}

#[tokio::test]
async fn why_names_only_live_processes_as_next_owner_of_an_expired_lease() {
    let world = World::new().await;
    let job = leased(&world).await;
    world.age(&job, chrono::Duration::minutes(1)).await;
    let next_owner = async || match why(&world, &job).await {
        Why::LeaseExpired { next_owner, .. } => next_owner,
        other => panic!("{other}"),
    };
    assert_eq!(next_owner().await, NextOwner::Worker, "the holder itself was seen: it may take it again");
    world.run(NOT_SEEN).await;
    report(&world, &process("host:2", 0)).await;
    assert_eq!(next_owner().await, NextOwner::NoWorker);
    world.operations().forget_process("host:2").await.unwrap();
    assert_eq!(next_owner().await, NextOwner::NoProcess);
}
