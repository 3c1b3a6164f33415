//! graphile_worker, the Rust one. Finished jobs are deleted. With the word `tuned`: its local queue.

#[path = "../line.rs"]
mod line;

use graphile_worker::{
    IntoTaskHandlerResult, JobSpec, LocalQueueConfig, TaskHandler, WorkerContext, WorkerOptions, WorkerUtils,
};
use line::{Fill, Handle, Queue, Stop, Reported};
use serde::{Deserialize, Serialize};
use sqlx::{PgPool, postgres::PgPoolOptions};

#[derive(Clone, Serialize, Deserialize)]
struct Bench {
    job: usize,
}

#[derive(Clone)]
struct Seen(Handle);

impl std::fmt::Debug for Seen {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Seen")
    }
}

impl TaskHandler for Bench {
    const IDENTIFIER: &'static str = "bench";

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let seen = context.get_ext::<Seen>().expect("the worker was given it").clone();
        (seen.0)(self.job).await;
        Ok::<(), String>(())
    }
}

struct Graphile {
    pool: PgPool,
    utils: WorkerUtils,
    tuned: bool,
}

impl Queue for Graphile {
    async fn setup(&self) {
        self.utils.migrate().await.expect("the peer sets its schema up");
    }

    async fn fill(&self, fill: Fill, count: usize) -> bool {
        if fill == Fill::Finished {
            return false;
        }
        let far = JobSpec { run_at: Some(chrono::Utc::now() + chrono::TimeDelta::days(1)), ..JobSpec::default() };
        self.utils.add_job(Bench { job: 0 }, far).await.expect("a job");
        sqlx::query(
            "insert into graphile_worker._private_jobs (task_id, payload, run_at) \
             select id, '{\"job\": 0}', now() + interval '1 day' \
             from graphile_worker._private_tasks, generate_series(2, $1) where identifier = 'bench'",
        )
        .bind(count as i64)
        .execute(&self.pool)
        .await
        .expect("many rows");
        sqlx::raw_sql("vacuum analyze graphile_worker._private_jobs").execute(&self.pool).await.expect("a vacuum");
        true
    }

    async fn left(&self) -> i64 {
        let left = "select count(*) from graphile_worker._private_jobs where run_at < now() + interval '1 hour'";
        sqlx::query_scalar(left).fetch_one(&self.pool).await.expect("a count")
    }

    async fn load(&self, from: usize, to: usize) {
        let (spec, jobs) = (JobSpec::default(), Vec::from_iter(from..to));
        for chunk in jobs.chunks(5_000) {
            let chunk: Vec<_> = chunk.iter().map(|job| (Bench { job: *job }, &spec)).collect();
            self.utils.add_jobs(&chunk).await.expect("many jobs");
        }
    }

    async fn push(&self, job: usize) {
        self.utils.add_job(Bench { job }, JobSpec::default()).await.expect("a job");
    }

    async fn work(&self, width: usize, _: Reported, handle: Handle) -> Stop {
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let mut options = WorkerOptions::default()
            .concurrency(width)
            .pg_pool(self.pool.clone())
            .define_job::<Bench>()
            .add_extension(Seen(handle))
            .listen_os_shutdown_signals(false)
            .shutdown_signal(async { stopped.await.unwrap_or_default() });
        if self.tuned {
            options = options.local_queue(LocalQueueConfig::default().with_size(500));
        }
        let worker = options.init().await.expect("a worker");
        let running = tokio::spawn(async move { worker.run().await.expect("a worker that runs") });
        Box::pin(async move {
            stop.send(()).ok();
            running.await.expect("a worker that ends");
        })
    }
}

#[tokio::main]
async fn main() {
    let url = std::env::var("DATABASE_URL").expect("DATABASE_URL names a database");
    let pool = PgPoolOptions::new().max_connections(20).connect(&url).await.expect("the database answers");
    let utils = WorkerUtils::new(pool.clone(), "graphile_worker".to_owned());
    let tuned = std::env::args().nth(1).as_deref() == Some("tuned");
    line::serve(Graphile { pool, utils, tuned }).await;
}
