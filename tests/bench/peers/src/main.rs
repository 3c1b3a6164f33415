//! Bare apalis-postgres, as its own examples use it, under the loads of our benchmark. One load per call; prints one
//! line of JSON. `DATABASE_URL` names an empty database; `tests/bench` starts this program.
//!
//! - `enqueue JOBS PRODUCERS on|off`: one `push_tasks` per job, the insert trigger on or off.
//! - `latency RATE SECONDS pubsub|poll`: open loop; from the commit of a push to the start of its handler, woken by
//!   its pubsub, or by that and polling every 100 ms.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use apalis::prelude::*;
use apalis_postgres::{Config, PgTask, PostgresStorage};
use futures::{StreamExt, stream};
use sqlx::postgres::{PgPool, PgPoolOptions};

const QUEUE: &str = "bench";

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let url = std::env::var("DATABASE_URL").expect("DATABASE_URL names an empty database");
    let pool = PgPoolOptions::new().max_connections(20).connect(&url).await.expect("the database answers");
    PostgresStorage::setup(&pool).await.expect("the peer sets its schema up");
    let number = |word: &str| word.parse::<usize>().expect("a number");
    match words[..] {
        ["enqueue", jobs, producers, trigger] => {
            enqueue(&pool, number(jobs), number(producers), trigger).await;
        }
        ["latency", rate, seconds, mode] => latency(&pool, number(rate), number(seconds), mode).await,
        _ => panic!("enqueue JOBS PRODUCERS on|off, or latency RATE SECONDS pubsub|poll"),
    }
}

/// Pushes one job, whose argument is its number, in a transaction of its own.
async fn push(pool: &PgPool, job: usize) {
    let mut connection = pool.acquire().await.expect("a connection");
    let task: PgTask = TaskBuilder::new(serde_json::to_vec(&job).expect("a number is JSON")).build();
    apalis_postgres::queries::push_tasks(&mut *connection, QUEUE, vec![task]).await.expect("a push");
}

async fn enqueue(pool: &PgPool, jobs: usize, producers: usize, trigger: &str) {
    if trigger == "off" {
        sqlx::raw_sql("alter table apalis.jobs disable trigger notify_workers")
            .execute(pool)
            .await
            .expect("no trigger");
    }
    let began = Instant::now();
    stream::iter(0..jobs).for_each_concurrent(producers, |job| push(pool, job)).await;
    println!("{}", serde_json::json!({ "per_second": jobs as f64 / began.elapsed().as_secs_f64() }));
}

type Starts = Arc<Mutex<HashMap<usize, Instant>>>;

async fn handle(job: usize, starts: Data<Starts>) -> Result<(), BoxDynError> {
    starts.lock().expect("no thread panicked").entry(job).or_insert_with(Instant::now);
    Ok(())
}

async fn latency(pool: &PgPool, rate: usize, seconds: usize, mode: &str) {
    let starts = Starts::default();
    let storage =
        PostgresStorage::<usize>::new(pool).with_config(Config::default().queue(QUEUE).batch_size(16));
    let storage = storage.with_pubsub();
    let worker = WorkerBuilder::new("bench");
    let pushed = load(pool, rate, seconds);
    // The worker runs on the main task; its handlers, and the pushes, are tasks of their own.
    let pushed = match mode {
        "poll" => {
            let storage = storage.poll_with_interval(Duration::from_millis(100));
            let worker = worker.backend(storage).data(starts.clone()).parallelize(tokio::spawn).build(handle);
            tokio::select! { pushed = pushed => pushed, _ = worker.run() => panic!("the worker ended") }
        }
        _ => {
            let worker = worker.backend(storage).data(starts.clone()).parallelize(tokio::spawn).build(handle);
            tokio::select! { pushed = pushed => pushed, _ = worker.run() => panic!("the worker ended") }
        }
    };
    let starts = starts.lock().expect("no thread panicked");
    let wait = |(job, at): (usize, &Instant)| {
        Some(starts.get(&job)?.saturating_duration_since(*at).as_secs_f64() * 1e3)
    };
    let mut waits: Vec<f64> = pushed.iter().enumerate().filter_map(wait).collect();
    waits.sort_by(f64::total_cmp);
    let at = |share: f64| waits.get(((waits.len().max(1) - 1) as f64 * share) as usize);
    println!(
        "{}",
        serde_json::json!({ "p50": at(0.5), "p99": at(0.99), "started": waits.len(), "of": pushed.len() })
    );
}

/// Pushes at a steady rate; when each push was committed.
async fn load(pool: &PgPool, rate: usize, seconds: usize) -> Vec<Instant> {
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut clock = tokio::time::interval(Duration::from_secs_f64(1.0 / rate as f64));
    let mut producers = Vec::new();
    for job in 0..rate * seconds {
        clock.tick().await;
        let pool = pool.clone();
        producers.push(tokio::spawn(async move {
            push(&pool, job).await;
            Instant::now()
        }));
    }
    let pushed = futures::future::join_all(producers).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    pushed.into_iter().map(|at| at.expect("a push")).collect()
}
