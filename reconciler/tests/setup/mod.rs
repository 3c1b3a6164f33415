//! A database with users, conversations and jobs in states that need repair.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "shared by test files; a test may panic"
)]

use std::{collections::HashMap, time::Duration};

use job::{JobId, Queue, WorkerId};
use ledger::{ClaimRequest, CreateOutcome, Ledger, NewContent, NewConversation};
use prometheus::{IntCounter, Registry, TextEncoder};
use reconciler::{Metrics, Reconciler, Settings};
use records::{ConversationId, Segment, Source, UserId};
use sqlx::{AssertSqlSafe, PgPool};
use store::UserChange;
use testbed::TestDatabase;
use tokio_util::sync::CancellationToken;

pub struct Setup {
    pub pool: PgPool,
    pub ledger: Ledger,
    pub metrics: Metrics,
    pub retries: IntCounter,
    pub dead_letters: IntCounter,
    pub stop: CancellationToken,
    registry: Registry,
    _database: TestDatabase,
}

pub fn user() -> UserId {
    UserId::new("ana")
}

impl Setup {
    pub async fn new() -> Self {
        let database = TestDatabase::new().await;
        let ledger =
            Ledger::new(database.options(), ledger::Settings { connections: 4, ..Default::default() });
        assert!(ledger.store().create_user(&user(), &UserChange::default()).await.unwrap());
        let registry = Registry::new();
        let [retries, dead_letters] =
            ["retries", "dead_letters"].map(|name| IntCounter::new(name, "help").unwrap());
        let metrics = Metrics::new(&registry, retries.clone(), dead_letters.clone()).unwrap();
        Self {
            pool: database.pool(2).await,
            ledger,
            metrics,
            retries,
            dead_letters,
            stop: CancellationToken::new(),
            registry,
            _database: database,
        }
    }

    pub fn reconciler(&self, page: i64) -> Reconciler {
        let settings = Settings { page, ..Settings::default() };
        Reconciler::new(self.ledger.clone(), settings, self.metrics.clone(), self.stop.clone())
    }

    async fn create(&self, id: &str, deferred: bool) -> CreateOutcome {
        let segment = Segment {
            id: None,
            text: "I will call the dentist tomorrow.".to_owned(),
            speaker: None,
            speaker_id: Some(0),
            is_user: true,
            person_id: None,
            start: 0.0,
            end: 3.0,
        };
        let words = NewContent::Segments(vec![segment]);
        let new = NewConversation {
            deferred,
            ..NewConversation::new(ConversationId::new(id), words, Source::new("phone"))
        };
        self.ledger.create_conversation(&user(), new, None).await.unwrap()
    }

    /// A conversation whose job is queued.
    pub async fn queued(&self, id: &str) -> JobId {
        match self.create(id, false).await {
            CreateOutcome::Admitted(admitted) => {
                self.woken(Queue::Creation).await;
                admitted.job_id
            }
            other => panic!("{other:?}"),
        }
    }

    /// Jobs that wait for their user's keys. From now on the user's jobs require keys.
    pub async fn parked<const N: usize>(&self, ids: [&str; N]) -> [JobId; N] {
        let mut jobs = Vec::new();
        for id in ids {
            jobs.push(self.queued(id).await);
        }
        let marked = UserChange { requires_byok: Some(true), ..UserChange::default() };
        self.ledger.change_user(&user(), &marked).await.unwrap();
        jobs.try_into().unwrap()
    }

    /// The same after the fourteen days in which keys can be brought; each is due before the next one.
    pub async fn overdue<const N: usize>(&self, ids: [&str; N]) -> [JobId; N] {
        let jobs = self.parked(ids).await;
        for (minutes, job) in (1..).zip(jobs.iter().rev()) {
            self.sql(&format!(
                "update finalization_jobs set first_blocked_at = at, reconcile_after_at = at + interval '14 days' \
                 from (select clock_timestamp() - interval '14 days {minutes} minutes' as at) t where job_id = '{job}'"
            ))
            .await;
        }
        jobs
    }

    /// Claims that many queued jobs, in the name of a worker that dies.
    pub async fn claim(&self, jobs: u32) {
        let request = ClaimRequest {
            queue: Queue::Creation,
            worker: WorkerId("dead".to_owned()),
            slots: jobs,
            share: jobs,
            most: jobs,
            running: HashMap::new(),
        };
        assert_eq!(self.ledger.claim(&request).await.unwrap().claims.len(), jobs as usize);
    }

    /// A conversation that waits for its finalize.
    pub async fn deferred(&self, id: &str) {
        assert!(matches!(self.create(id, true).await, CreateOutcome::Deferred(_)));
    }

    /// One whose last append is that many hours old.
    pub async fn silent(&self, id: &str, hours: u32) {
        self.deferred(id).await;
        self.sql(&format!(
            "update conversations set last_append_at = clock_timestamp() - interval '{hours} hours' \
             where conversation_id = '{id}'"
        ))
        .await;
    }

    /// From now on the database refuses whatever changes that job, and `refused` counts how often.
    pub async fn refuse(&self, job: &JobId) {
        self.refuse_with("P0001", "update on finalization_jobs", &format!("old.job_id = '{job}'")).await;
    }

    /// From now on the database refuses, with that code, whatever `event` is `when`; `refused` counts how often. Once a test.
    pub async fn refuse_with(&self, code: &str, event: &str, when: &str) {
        self.sql(&format!(
            "create sequence refusals minvalue 0 start 1; select setval('refusals', 0); \
             create function refuse() returns trigger language plpgsql as \
                 $$begin perform nextval('refusals'); raise exception 'no' using errcode = '{code}'; end$$; \
             create trigger refused before {event} for each row when ({when}) execute function refuse()"
        ))
        .await;
    }

    /// How often it did: what was rolled back counts too.
    pub async fn refused(&self) -> i64 {
        self.count("select last_value from refusals").await
    }

    pub async fn sql(&self, statement: &str) {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&self.pool).await.unwrap();
    }

    /// What a query for one number says.
    pub async fn count(&self, query: &str) -> i64 {
        sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(&self.pool).await.unwrap()
    }

    /// Status, generation and crashes of a job.
    pub async fn job(&self, job: &JobId) -> (String, i64, i32) {
        sqlx::query_as("select status, generation, crashes from finalization_jobs where job_id = $1")
            .bind(job.as_str())
            .fetch_one(&self.pool)
            .await
            .unwrap()
    }

    /// How many rows an action counts.
    pub fn actions(&self, action: &str) -> String {
        let text = TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap();
        let series = format!("listen_reconciler_actions_total{{action=\"{action}\"}} ");
        text.lines().find_map(|line| line.strip_prefix(&series)).unwrap().to_owned()
    }

    pub fn last_success(&self) -> f64 {
        let text = TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap();
        let series = "listen_reconciler_last_success_timestamp_seconds ";
        text.lines().find_map(|line| line.strip_prefix(series)).unwrap().parse().unwrap()
    }

    /// Waits until a job is queued there; one that never is fails the test.
    pub async fn woken(&self, queue: Queue) {
        let woken = self.ledger.db().waker().jobs_waiting(queue);
        tokio::time::timeout(Duration::from_secs(20), woken).await.unwrap();
    }
}
