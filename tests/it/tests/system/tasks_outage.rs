//! Task creates without an answer, and an outage of the task queue.

use std::time::Duration;

use task_queue::{Fault, Kind, Options};
use tokio::time::{Instant, interval};

use crate::client::page;
use crate::process::{Process, until};
use crate::queue::Queue;
use crate::tasks::{admit, all_completed};
use crate::world::World;

/// Jobs that did not complete at the first task and in one run.
const MORE_THAN_ONCE: &str = "select count(*) from finalization_jobs \
     where (runs, attempts, crashes, generation, dispatch) <> (1, 0, 0, 1, 1)";

#[tokio::test]
async fn task_queue_create_without_an_answer_is_recognized_by_name() {
    let world = World::new().await;
    let queue = Queue::start(Options::default()).await;
    let process = Process::serve(&world.url, &queue.taking(&[])).await;
    let client = world.client(&process);
    queue.emulator.pause(true);
    queue.emulator.fault(Fault::times(Kind::CreateHangAfterCommit, 2));

    admit(&client, 3).await;

    // The tries that are not answered are given up after ten seconds, and repeated after one more.
    until(async || outcomes(&process, "exists").await == 2).await;
    assert_eq!(queue.emulator.created(), 3, "409: the queue had them");
    assert_eq!(outcomes(&process, "unreachable").await, 2);
    until(async || {
        world.count("select count(*) from finalization_jobs where handed_dispatch = dispatch").await == 3
    })
    .await;
    queue.emulator.pause(false);
    all_completed(&world, 3, Duration::from_secs(30)).await;
    queue.delivered(3).await;

    // One that is delivered while its create still hangs has run by the time of the next try.
    queue.emulator.fault(Fault::times(Kind::CreateHangAfterCommit, 1));
    admit(&client, 1).await;
    all_completed(&world, 4, Duration::from_secs(30)).await;
    until(async || outcomes(&process, "unreachable").await == 3).await;
    assert_eq!(world.count(MORE_THAN_ONCE).await, 0);
    assert_eq!((queue.emulator.created(), queue.emulator.deliveries().len()), (4, 4));
}

async fn outcomes(process: &Process, outcome: &str) -> u64 {
    let (_, metrics) = page(&format!("{}/metrics", process.admin)).await;
    let name = format!("listen_tasks_created_total{{outcome=\"{outcome}\"}} ");
    let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
    line.map_or(0, |count| count.parse().expect("a count"))
}

#[tokio::test]
#[ignore = "ten minutes, or TASKS_OUTAGE_SECONDS"]
async fn task_queue_outage_of_minutes_costs_only_time() {
    let named = std::env::var("TASKS_OUTAGE_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let outage = Duration::from_secs(named.unwrap_or(600));
    let world = World::new().await;
    let queue = Queue::start(Options::default()).await;
    let process = Process::serve(&world.url, &queue.taking(&[("LISTEN_RATE_PER_MINUTE", "0")])).await;
    let client = world.client(&process);
    let ways = [
        Kind::CreateStatus { status: 503, retry_after: None },
        Kind::CreateHang,
        Kind::CreateStatus { status: 429, retry_after: Some(2) },
    ];
    let begun = Instant::now();
    let (mut clock, mut jobs) = (interval(Duration::from_secs(3)), 0);
    while begun.elapsed() < outage {
        clock.tick().await;
        queue.emulator.mend();
        queue.emulator.fault(Fault::always(ways[jobs % ways.len()].clone()));
        // Both are answered 200, or the test fails.
        admit(&client, 1).await;
        jobs += 1;
    }
    assert_eq!(queue.emulator.created(), 0);

    queue.emulator.mend();

    all_completed(&world, jobs, Duration::from_secs(120)).await;
    assert_eq!(world.count(MORE_THAN_ONCE).await, 0);
}
