//! awa. Finished jobs are kept for a day, in batches in a form of its own that no SQL of ours could imitate.

#[path = "../line.rs"]
mod line;

use std::time::Duration;

use awa::{Client, InsertOpts, InsertParams, JobArgs, JobContext, JobResult, QueueConfig, model::migrations};
use line::{Fill, Handle, Queue, Stop, Reported};
use serde::{Deserialize, Serialize};
use sqlx08::{PgPool, postgres::PgPoolOptions};

const QUEUE: &str = "bench";

#[derive(Serialize, Deserialize, JobArgs)]
struct Bench {
    job: i64,
}

struct Awa(PgPool);

impl Awa {
    async fn insert(&self, jobs: impl Iterator<Item = i64>, tomorrow: bool) {
        let opts = InsertOpts {
            queue: QUEUE.to_owned(),
            run_at: tomorrow.then(|| chrono::Utc::now() + chrono::TimeDelta::days(1)),
            ..InsertOpts::default()
        };
        let params = |job| InsertParams {
            kind: Bench::kind().to_owned(),
            args: serde_json::json!({ "job": job }),
            opts: opts.clone(),
        };
        let params: Vec<_> = jobs.map(params).collect();
        for chunk in params.chunks(5_000) {
            here(awa::insert_many_copy_from_pool(&self.0, chunk)).expect("many inserts");
        }
    }
}

/// Waits in place: some of its futures are not `Send` for every lifetime, and cannot be awaited in the middle of ours.
fn here<T>(future: impl Future<Output = T>) -> T {
    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(future))
}

impl Queue for Awa {
    async fn setup(&self) {
        here(migrations::run(&self.0)).expect("the peer sets its schema up");
    }

    async fn fill(&self, fill: Fill, count: usize) -> bool {
        if fill == Fill::Waiting {
            self.insert((0..count).map(|_| -1), true).await;
            sqlx08::raw_sql("vacuum analyze").execute(&self.0).await.expect("a vacuum");
        }
        fill == Fill::Waiting
    }

    async fn left(&self) -> i64 {
        let left = "select count(*) from awa.jobs where state in ('available', 'running', 'retryable')";
        sqlx08::query_scalar(left).fetch_one(&self.0).await.expect("a count")
    }

    async fn load(&self, from: usize, to: usize) {
        self.insert((from..to).map(|job| job as i64), false).await;
    }

    async fn push(&self, job: usize) {
        let opts = InsertOpts { queue: QUEUE.to_owned(), ..InsertOpts::default() };
        awa::insert_with(&self.0, &Bench { job: job as i64 }, opts).await.expect("an insert");
    }

    async fn work(&self, width: usize, _: Reported, handle: Handle) -> Stop {
        let config = QueueConfig { max_workers: width as u32, ..QueueConfig::default() };
        let client = Client::builder(self.0.clone())
            .queue(QUEUE, config)
            .register::<Bench, _, _>(move |args: Bench, _: &JobContext| {
                let seen = handle(args.job as usize);
                async move {
                    seen.await;
                    Ok(JobResult::Completed)
                }
            })
            .build()
            .expect("a worker");
        client.start().await.expect("a running worker");
        Box::pin(async move { client.shutdown(Duration::from_secs(5)).await })
    }
}

#[tokio::main]
async fn main() {
    let url = std::env::var("DATABASE_URL").expect("DATABASE_URL names a database");
    let pool = PgPoolOptions::new().max_connections(20).connect(&url).await.expect("the database answers");
    line::serve(Awa(pool)).await;
}
