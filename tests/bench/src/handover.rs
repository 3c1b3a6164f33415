//! How long after the commit of its admission a job's task is with the task queue.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use axum::{
    Json, Router,
    extract::{Path, State},
    routing::post,
};
use prometheus::{IntCounter, Registry};
use serde_json::Value;
use task_queue::{INVOKER, QUEUE};
use tasks::{Access, TaskQueue, TaskQueueSettings};
use tokio_util::sync::CancellationToken;

use crate::{
    figures::percentiles,
    setup::{Setup, serve},
};

/// Admissions a second, and for how long.
const RATE: usize = 100;
const SECONDS: usize = 5;

/// When a task of each name was created.
type Created = Arc<Mutex<HashMap<String, Instant>>>;

/// Prints the table.
pub(crate) async fn table(setup: &Setup) {
    let created = Created::default();
    let queue = queue(&created).await;
    let metrics = tasks::Metrics::new(&Registry::new(), IntCounter::new("failed", "help").unwrap()).unwrap();
    let stop = CancellationToken::new();
    let handing = tokio::spawn(tasks::hand_over(setup.ledger.clone(), queue, 1, metrics, stop.clone()));
    let stored = setup.stored_many("handed", RATE * SECONDS).await;
    let mut clock = tokio::time::interval(Duration::from_secs_f64(1.0 / RATE as f64));
    let mut producers = Vec::new();
    for (user, id) in stored {
        clock.tick().await;
        let ledger = setup.ledger.clone();
        producers.push(tokio::spawn(async move {
            let job = ledger.finalize(&user, &id, None, None).await.unwrap().unwrap().job.unwrap();
            (tasks::task_id(&job, job::Generation(1), job::Dispatch(1)), Instant::now())
        }));
    }
    let committed: Vec<_> =
        futures::future::join_all(producers).await.into_iter().map(Result::unwrap).collect();
    tokio::time::sleep(Duration::from_secs(2)).await;
    stop.cancel();
    handing.await.unwrap();
    let created = created.lock().unwrap().clone();
    assert_eq!(created.len(), committed.len(), "a run with losses is not a number");
    let wait = |(task, at): &(String, Instant)| {
        Some(created.get(task)?.saturating_duration_since(*at).as_secs_f64() * 1e3)
    };
    let waits: Vec<f64> = committed.iter().filter_map(wait).collect();
    let (p50, p99) = percentiles(waits).expect("tasks were created");
    println!(
        "| from commit to a task with the task queue, {RATE} a second for {SECONDS} s | p50 ms | p99 ms |\n|---|---|---|"
    );
    println!("| a dispatcher in the same process | {p50:.1} | {p99:.1} |\n");
    setup.forget_jobs().await;
}

/// A task queue that takes every task at once and delivers none.
async fn queue(created: &Created) -> TaskQueue {
    let router = Router::new()
        .route("/v2/projects/{p}/locations/{l}/queues/{q}/tasks", post(create))
        .with_state(Arc::clone(created));
    let api_url = format!("http://{}", serve(router).await).parse().unwrap();
    let settings = TaskQueueSettings {
        api_url,
        queue: QUEUE.parse().unwrap(),
        handler_url: "https://listen.example/run".to_owned(),
        audience: "https://listen.example/run".to_owned(),
        invoker: INVOKER.to_owned(),
        deadline: Duration::from_secs(1_500),
    };
    TaskQueue::new(settings, Access::Open).unwrap()
}

async fn create(
    State(created): State<Created>,
    Path(_queue): Path<(String, String, String)>,
    Json(asked): Json<Value>,
) -> Json<Value> {
    let task = asked["task"].clone();
    let name = task["name"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    created.lock().unwrap().entry(name).or_insert_with(Instant::now);
    Json(task)
}
