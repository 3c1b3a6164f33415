//! Ours behind the same protocol, in a process of its own: what is inserted is the finalize of a stored conversation,
//! what is drained is its whole finalization with an engine that costs nothing. Admissions go through a second
//! ledger, so that the worker is woken as by another process, through the server.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{StreamExt, stream};
use ledger::{Ledger, Settings as Connections, StoredJob};
use prometheus::Registry;
use records::ConversationId;
use sqlx::{AssertSqlSafe, PgPool, postgres::PgConnectOptions};
use store::UserChange;
use tokio_util::sync::CancellationToken;
use worker::{Ended, RunEvent, RunObserver, Settings};

use super::line::{self, Fill, Handle, Queue, Reported, Stop};
use crate::{
    drain::worker_on,
    http::Client,
    setup::{CONNECTIONS, PEOPLE, WIDTH, keys_in, person, serve_on, store_in},
};

/// Answers the line protocol until standard input ends.
pub(crate) async fn adapter(way: &str) {
    let url = std::env::var("DATABASE_URL").expect("DATABASE_URL names a database");
    let options: PgConnectOptions = url.parse().expect("a database URL");
    let ledger =
        || Ledger::new(options.clone(), Connections { connections: CONNECTIONS, ..Connections::default() });
    let pool = PgPool::connect_lazy_with(options.clone());
    let (admitting, working) = (ledger(), ledger());
    let ours = Ours {
        pool,
        admitting,
        working,
        over_http: way == "http",
        door: Mutex::default(),
        clients: Mutex::default(),
        turn: AtomicUsize::new(0),
    };
    line::serve(ours).await;
}

struct Ours {
    pool: PgPool,
    admitting: Ledger,
    working: Ledger,
    over_http: bool,
    /// Where the interface listens, and a key of each person.
    door: Mutex<Option<(SocketAddr, Arc<Vec<String>>)>>,
    clients: Mutex<Vec<Client>>,
    /// Conversations were stored so many times.
    turn: AtomicUsize,
}

impl Ours {
    /// The person's number, and the name, of what is pushed as job `job`.
    fn conversation(&self, job: usize) -> (usize, ConversationId) {
        let id = format!("peers{}-{job}", self.turn.load(Ordering::Relaxed));
        (job % PEOPLE, ConversationId::new(id))
    }

    async fn post(&self, job: usize) {
        let (address, keys) = self.door.lock().unwrap().clone().expect("setup came first");
        let (person, id) = self.conversation(job);
        let kept = self.clients.lock().unwrap().pop();
        let mut client = match kept {
            Some(client) => client,
            None => Client::connect(address).await,
        };
        let path = format!("/v1/conversations/{}/finalize", id.as_str());
        assert_eq!(client.post(&path, &keys[person]).await, 200);
        self.clients.lock().unwrap().push(client);
    }
}

impl Queue for Ours {
    async fn setup(&self) {
        self.admitting.db().migrate().await.unwrap();
        for number in 0..PEOPLE {
            self.admitting.store().create_user(&person(number), &UserChange::default()).await.unwrap();
        }
        if self.over_http {
            let keys = Arc::new(keys_in(&self.admitting).await);
            let address = serve_on(&self.admitting).await;
            *self.door.lock().unwrap() = Some((address, keys));
        }
    }

    async fn fill(&self, fill: Fill, count: usize) -> bool {
        let statements = match fill {
            Fill::Finished => FINISHED,
            Fill::Waiting => WAITING,
        };
        for statement in statements {
            let statement = statement.replace("$COUNT", &count.to_string());
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(&self.pool).await.unwrap();
        }
        sqlx::raw_sql("vacuum analyze").execute(&self.pool).await.unwrap();
        true
    }

    async fn left(&self) -> i64 {
        let left = "select count(*) from finalization_jobs where status in ('queued', 'leased', 'blocked_byok') \
                    and (ready_at is null or ready_at < now() + interval '1 hour')";
        sqlx::query_scalar(left).fetch_one(&self.pool).await.unwrap()
    }

    async fn prepare(&self, count: usize) {
        let prefix = format!("peers{}", self.turn.fetch_add(1, Ordering::Relaxed) + 1);
        let prefix = prefix.as_str();
        stream::iter(0..count)
            .for_each_concurrent(WIDTH, |job| async move {
                store_in(&self.admitting, prefix, job).await;
            })
            .await;
    }

    async fn load(&self, from: usize, to: usize) {
        stream::iter(from..to).for_each_concurrent(WIDTH, |job| self.push(job)).await;
    }

    async fn push(&self, job: usize) {
        if self.over_http {
            return self.post(job).await;
        }
        let (number, id) = self.conversation(job);
        self.admitting.finalize(&person(number), &id, None, None).await.unwrap().unwrap();
    }

    async fn work(&self, _: usize, reported: Reported, handle: Handle) -> Stop {
        let held = (reported == Reported::Held).then(|| ("describe".to_owned(), Duration::from_secs(3_600)));
        let settings = Settings {
            worker_name: format!("bench-{}", std::process::id()),
            pause_after: held,
            observer: Arc::new(Tell { reported, handle }),
            ..Settings::default()
        };
        let (soft, hard) = (CancellationToken::new(), CancellationToken::new());
        let registry = Registry::new();
        let [retries, dead_letters] =
            ["retries", "dead_letters"].map(|name| prometheus::IntCounter::new(name, "help").unwrap());
        let metrics = reconciler::Metrics::new(&registry, retries, dead_letters).unwrap();
        let watch = reconciler::watch_leases(
            self.working.clone(),
            settings.heartbeat,
            u64::from(std::process::id()),
            metrics,
            soft.clone(),
        );
        let carry = |ledger: &Ledger| {
            let ledger = ledger.clone();
            tokio::spawn(async move { ledger.db().carry_wakes().await })
        };
        let carrying = [carry(&self.admitting), carry(&self.working)];
        let running = tokio::spawn(worker_on(self.working.clone(), settings).run(soft.clone(), hard));
        let watching = tokio::spawn(watch);
        Box::pin(async move {
            soft.cancel();
            running.await.unwrap();
            watching.await.unwrap();
            carrying.iter().for_each(tokio::task::JoinHandle::abort);
        })
    }
}

/// Tells the protocol what runs do.
struct Tell {
    reported: Reported,
    handle: Handle,
}

impl RunObserver for Tell {
    fn observe(&self, claimed: &StoredJob, event: RunEvent) {
        let due = match event {
            RunEvent::RunStarted => self.reported != Reported::End,
            RunEvent::RunEnded { end: Ended::Completed, .. } => self.reported == Reported::End,
            _ => false,
        };
        if due {
            let job = claimed.conversation_id.as_str().rsplit('-').next().and_then(|job| job.parse().ok());
            // A watcher must return at once; a handle that waits is left to itself.
            tokio::spawn((self.handle)(job.expect("a conversation that was stored here")));
        }
    }
}

/// Conversations that were finalized, as a finalization leaves them.
const FINISHED: &[&str] = &[
    "insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, finished_at, language, \
         source, status, title, finalization_revision) \
     select 'bench-' || n % 64, 'history-' || n, t, t, t, t, 'en', 'phone', 'completed', 'Nothing', 1 \
     from generate_series(1, $COUNT) n, lateral (select now() - make_interval(secs => n / 100.0) t) times",
    "insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, outcome, \
         epoch, runs, requires_keys, force_process, admitted_at, created_at, updated_at, finished_at) \
     select 'bench-' || n % 64, 'fj_history_' || n, 'history-' || n, 1, 'finalize', 'finalization', 'completed', \
         'kept', 1, 1, false, true, t, t, t, t \
     from generate_series(1, $COUNT) n, lateral (select now() - make_interval(secs => n / 100.0) t) times",
    "insert into finalization_admissions (user_id, conversation_id, revision, job_id, admitted_at) \
     select user_id, conversation_id, revision, job_id, admitted_at from finalization_jobs",
    "update finalization_totals set jobs = $COUNT where status = 'completed' and stripe = 0",
];

/// Conversations whose jobs are due tomorrow.
const WAITING: &[&str] = &[
    "insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, finished_at, language, \
         source, status, finalization_revision) \
     select 'bench-' || n % 64, 'waiting-' || n, now(), now(), now(), now(), 'en', 'phone', 'processing', 1 \
     from generate_series(1, $COUNT) n",
    "insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, ready_at, \
         requires_keys, force_process, admitted_at, created_at, updated_at, reconcile_after_at) \
     select 'bench-' || n % 64, 'fj_waiting_' || n, 'waiting-' || n, 1, 'finalize', 'finalization', 'queued', \
         now() + interval '1 day', false, true, now(), now(), now(), now() + interval '25 hours' \
     from generate_series(1, $COUNT) n",
    "insert into finalization_admissions (user_id, conversation_id, revision, job_id, admitted_at) \
     select user_id, conversation_id, revision, job_id, admitted_at from finalization_jobs",
];
