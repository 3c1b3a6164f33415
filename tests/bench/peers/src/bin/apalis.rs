//! apalis-postgres through the line protocol. Finished jobs are kept until a vacuum is asked for.

#[path = "../line.rs"]
mod line;

use std::sync::atomic::{AtomicUsize, Ordering};

use apalis::prelude::*;
use apalis_postgres::{Config, PgTask, PostgresStorage, queries::push_tasks};
use line::{Fill, Handle, Queue, Stop, Reported};
use sqlx::postgres::{PgPool, PgPoolOptions};

const QUEUE: &str = "bench";

#[derive(Clone)]
struct Seen(Handle);

async fn handle(job: usize, seen: Data<Seen>) -> Result<(), BoxDynError> {
    let Seen(handle) = &*seen;
    handle(job).await;
    Ok(())
}

struct Apalis {
    pool: PgPool,
    /// A worker's name may not return while its last owner could still live.
    workers: AtomicUsize,
}

impl Apalis {
    async fn push_many(&self, jobs: impl Iterator<Item = usize>) {
        let task = |job| -> PgTask { TaskBuilder::new(serde_json::to_vec(&job).expect("a number is JSON")).build() };
        let mut connection = self.pool.acquire().await.expect("a connection");
        push_tasks(&mut *connection, QUEUE, jobs.map(task).collect::<Vec<_>>()).await.expect("a push");
    }
}

impl Queue for Apalis {
    async fn setup(&self) {
        PostgresStorage::setup(&self.pool).await.expect("the peer sets its schema up");
    }

    async fn fill(&self, fill: Fill, count: usize) -> bool {
        // Pushed by itself first, so that everything that is not said here is its own; no trigger rings for these.
        let state = match fill {
            Fill::Finished => "status = 'Done', done_at = now(), lock_at = now(), attempts = 1, last_result = '{\"Ok\": null}'",
            Fill::Waiting => "run_at = now() + interval '1 day'",
        };
        sqlx::raw_sql("alter table apalis.jobs disable trigger user").execute(&self.pool).await.expect("no trigger");
        let jobs = Vec::from_iter(0..count);
        for chunk in jobs.chunks(20_000) {
            self.push_many(chunk.iter().copied()).await;
        }
        for statement in [
            &*format!("update apalis.jobs set {state}"),
            "alter table apalis.jobs enable trigger user",
            "vacuum (full, analyze) apalis.jobs",
        ] {
            sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&self.pool).await.expect("rows");
        }
        true
    }

    async fn left(&self) -> i64 {
        let left = "select count(*) from apalis.jobs where status in ('Pending', 'Queued', 'Running') \
                    and run_at < now() + interval '1 hour'";
        sqlx::query_scalar(left).fetch_one(&self.pool).await.expect("a count")
    }

    async fn load(&self, from: usize, to: usize) {
        let jobs = Vec::from_iter(from..to);
        for chunk in jobs.chunks(5_000) {
            self.push_many(chunk.iter().copied()).await;
        }
    }

    async fn push(&self, job: usize) {
        self.push_many(std::iter::once(job)).await;
    }

    async fn work(&self, width: usize, _: Reported, seen: Handle) -> Stop {
        let config = Config::default().queue(QUEUE).batch_size(width);
        let storage = PostgresStorage::<usize>::new(&self.pool).with_config(config).with_pubsub();
        let name = format!("bench-{}-{}", std::process::id(), self.workers.fetch_add(1, Ordering::Relaxed));
        let worker = WorkerBuilder::new(name)
            .backend(storage)
            .data(Seen(seen))
            .parallelize(tokio::spawn)
            .build(handle);
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let running = tokio::spawn(worker.run_until(async {
            stopped.await.ok();
            Ok::<(), std::io::Error>(())
        }));
        Box::pin(async move {
            stop.send(()).ok();
            running.await.expect("a worker that ends").ok();
        })
    }
}

#[tokio::main]
async fn main() {
    let url = std::env::var("DATABASE_URL").expect("DATABASE_URL names a database");
    let pool = PgPoolOptions::new().max_connections(20).connect(&url).await.expect("the database answers");
    line::serve(Apalis { pool, workers: AtomicUsize::new(0) }).await;
}
