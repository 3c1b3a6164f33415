//! The pools, and how a verb begins.

use std::{sync::Arc, time::Duration};

use job::{Policy, Timestamp};
use records::{ConversationId, UserId};
use sqlx::{
    Executor, PgPool, Postgres, Transaction,
    migrate::{Migrate, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::{
    Budgets, RequestKey, Waker,
    admit::finalize::{Asked, Finalized},
    complete::{Completion, Finished},
    conversations::{Seen, Shown},
    deadline::{BELIEVED, Doubts},
    error::{Doing, Error},
    few::Few,
    keys::KeyOwner,
    operators::applied,
    release::Releases,
    row::JobRow,
    run_input::{About, RunInput},
    take::{Heads, PassedBy},
    together::{Lanes, Together},
};

/// The schema, forward only (`migrations/`).
pub static MIGRATOR: Migrator = sqlx::migrate!("../../migrations");

/// How a process talks to its database.
#[derive(Clone)]
pub struct Settings {
    /// Connections for everything but renewals.
    pub connections: u32,
    /// Whether admission writes bells: `postgres` and `cloud_tasks` do, `inline` does not (DESIGN §5).
    pub bells: bool,
    /// The numbers that decisions go by.
    pub policy: Policy,
    /// The limits of users without their own.
    pub budgets: Budgets,
    /// Called for every bell that could not be written (`listen_fallback_total`).
    pub enqueue_failed: Arc<dyn Fn() + Send + Sync>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connections: 15,
            bells: true,
            policy: Policy::default(),
            budgets: Budgets::default(),
            enqueue_failed: Arc::new(|| ()),
        }
    }
}

/// What sessions call themselves where nothing else was asked for; `verify` knows them by it.
const APPLICATION: &str = "listen";

/// The ledger of one process: three pools, the policy, and the waker of its own workers. Cheap to clone.
#[derive(Clone)]
pub struct Ledger {
    pub(crate) pool: PgPool,
    pub(crate) renewals: PgPool,
    /// For what touches a few rows by their keys and is asked for most: two takes, two batches of completions, two of
    /// admissions, and one each of what runs read, of polls and of keys.
    pub(crate) by_keys: Few,
    /// For what a person lists.
    pub(crate) pages: Few,
    pub(crate) policy: Policy,
    pub(crate) bells: bool,
    pub(crate) budgets: Budgets,
    pub(crate) waker: Waker,
    pub(crate) enqueue_failed: Arc<dyn Fn() + Send + Sync>,
    /// The name of the request on whose behalf this handle creates.
    pub(crate) request_key: Option<Arc<RequestKey>>,
    pub(crate) doubts: Doubts,
    pub(crate) releases: Releases,
    pub(crate) passed_by: PassedBy,
    pub(crate) heads: Heads,
    pub(crate) key_owners: Together<[u8; 32], Option<KeyOwner>>,
    pub(crate) admissions: Together<Arc<Asked>, Finalized>,
    pub(crate) completions: Together<Arc<Completion>, Finished>,
    pub(crate) inputs: Together<About, Option<RunInput>>,
    pub(crate) views: Together<Shown, Seen>,
    pub(crate) polls: Together<(UserId, ConversationId), Option<JobRow>>,
}

impl Ledger {
    /// Makes the pools without connecting yet: a database that is down at start is a matter of readiness,
    /// not of start-up. Leases are renewed through a pool of their own, so that a busy API cannot kill them.
    pub fn new(options: PgConnectOptions, settings: Settings) -> Self {
        let options = match options.get_application_name() {
            Some(_) => options,
            None => options.application_name(APPLICATION),
        };
        let doubts = Doubts::default();
        let releases = Releases::default();
        let pool =
            |size, session| sessions(size, session, &doubts, &releases).connect_lazy_with(options.clone());
        let few = |size, session| Few::of(pool(size, session), size, &doubts);
        Self {
            pool: pool(settings.connections, SESSION),
            renewals: pool(2, SESSION),
            by_keys: few(9, SESSION_BY_KEYS),
            pages: few(4, SESSION_OF_PAGES),
            policy: settings.policy,
            bells: settings.bells,
            budgets: settings.budgets,
            waker: Waker::default(),
            enqueue_failed: settings.enqueue_failed,
            request_key: None,
            doubts,
            releases,
            passed_by: PassedBy::default(),
            heads: Heads::default(),
            key_owners: Together::new(Lanes::One),
            admissions: Together::new(Lanes::Two),
            completions: Together::new(Lanes::Two),
            inputs: Together::new(Lanes::One),
            views: Together::new(Lanes::One),
            polls: Together::new(Lanes::One),
        }
    }

    /// Applies the migrations that are missing. Of several processes that do so at once, each migration is applied by one.
    ///
    /// # Errors
    /// When the database cannot be reached or a migration fails.
    pub async fn migrate(&self) -> Result<Migrated, Error> {
        const DOING: &str = "migrating the schema";
        // A migration takes as long as the tables are large.
        let unlimited = self.of_one();
        let migrated = apply_missing(&unlimited).await.doing(DOING);
        unlimited.close().await;
        migrated
    }

    /// Whether the schema is the one this binary was built for: part of readiness.
    ///
    /// # Errors
    /// When the database cannot be reached.
    pub async fn is_migrated(&self) -> Result<bool, Error> {
        const DOING: &str = "looking at the schema's version";
        // Two questions: one that names the table is refused where there is none, whatever its `where` says.
        let ever: bool = sqlx::query_scalar("select to_regclass('_sqlx_migrations') is not null")
            .fetch_one(&self.pool)
            .await
            .doing(DOING)?;
        if !ever {
            return Ok(false);
        }
        let newest = MIGRATOR.iter().map(|migration| migration.version).max().unwrap_or(0);
        sqlx::query_scalar("select exists (select from _sqlx_migrations where version = $1 and success)")
            .bind(newest)
            .fetch_one(&self.pool)
            .await
            .doing(DOING)
    }

    /// The database's clock: the only clock that decisions know.
    ///
    /// # Errors
    /// When the database cannot be reached.
    pub async fn now(&self) -> Result<Timestamp, Error> {
        sqlx::query_scalar("select clock_timestamp()").fetch_one(&self.pool).await.doing("reading the clock")
    }

    /// The policy that this process decides by.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The waker of this process: rung after commits, heard by its workers.
    pub fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Closes the pools; verbs in flight finish first.
    pub async fn close(&self) {
        self.renewals.close().await;
        self.by_keys.close().await;
        self.pages.close().await;
        self.pool.close().await;
    }

    /// A pool that goes with its only session, which has no limits but the server's own and is nobody else's place.
    pub(crate) fn of_one(&self) -> PgPool {
        let options = self.pool.connect_options().as_ref().clone();
        let kept = PgPoolOptions::new().acquire_timeout(ACQUIRING).max_lifetime(None).idle_timeout(None);
        kept.max_connections(1).connect_lazy_with(options)
    }

    /// Begins a verb: a transaction in which nobody waits for ever (DESIGN §4), and the database's clock.
    pub(crate) async fn begin(
        &self,
        doing: &'static str,
    ) -> Result<(Transaction<'static, Postgres>, Timestamp), Error> {
        begin_on(&self.pool, doing).await
    }

    /// Begins a renewal, as a verb begins, through the pool that is kept for renewals.
    pub(crate) async fn begin_renewing(
        &self,
        doing: &'static str,
    ) -> Result<(Transaction<'static, Postgres>, Timestamp), Error> {
        begin_on(&self.renewals, doing).await
    }

    /// Begins a transaction that only reads and sees one moment, so that what it shows is never torn by a completion or
    /// a deletion.
    pub(crate) async fn begin_reading(
        &self,
        doing: &'static str,
        plans: Plans,
    ) -> Result<Transaction<'static, Postgres>, Error> {
        self.pool.begin_with(plans.begin()).await.doing(doing)
    }
}

/// What became of the schema. Migrations are told by their versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Migrated {
    /// These were missing and were applied: none, where the schema was up to date.
    Applied(Vec<i64>),
    /// This program's are all there, and so are these of a newer one: nothing was left to be done.
    Newer(Vec<i64>),
    /// Some are missing, and there are others that this program does not know. Which may come first is known to neither:
    /// nothing was done.
    Parted {
        /// This program's that were never applied.
        missing: Vec<i64>,
        /// Those that it does not know.
        unknown: Vec<i64>,
    },
}

/// The session that applies them ends with the pool, and its lock with it.
async fn apply_missing(pool: &PgPool) -> Result<Migrated, sqlx::Error> {
    let mut session = pool.acquire().await?;
    // The migrator takes this lock once more, which its own session may: what is missing now nobody else applies.
    Migrate::lock(&mut *session).await?;
    let applied = applied(&mut session).await?;
    let versions = MIGRATOR.iter().map(|migration| migration.version);
    let missing: Vec<i64> = versions.filter(|version| !applied.contains(version)).collect();
    let unknown: Vec<i64> =
        applied.into_iter().filter(|version| !MIGRATOR.version_exists(*version)).collect();
    match (missing.is_empty(), unknown.is_empty()) {
        (_, true) => {
            MIGRATOR.run_direct(None, &mut *session, false).await?;
            Ok(Migrated::Applied(missing))
        }
        (true, false) => Ok(Migrated::Newer(unknown)),
        (false, false) => Ok(Migrated::Parted { missing, unknown }),
    }
}

/// The pool's sessions: as many as `size`, each set up by `session`.
fn sessions(size: u32, session: &'static str, doubts: &Doubts, releases: &Releases) -> PgPoolOptions {
    let (before, releases) = (doubts.clone(), releases.clone());
    PgPoolOptions::new()
        .max_connections(size)
        .acquire_timeout(ACQUIRING)
        .after_connect(move |connection, _| {
            Box::pin(async move { connection.execute(session).await.map(drop) })
        })
        .test_before_acquire(false)
        .before_acquire(move |session, state| {
            let doubts = before.clone();
            Box::pin(async move {
                if doubts.is_outdated(state.age) {
                    return Ok(false);
                }
                if state.idle_for < BELIEVED { Ok(true) } else { doubts.ask(session).await }
            })
        })
        .after_release(move |session, _| {
            let releases = releases.clone();
            Box::pin(async move { releases.is_reusable(session).await })
        })
}

/// How long a session is waited for.
const ACQUIRING: Duration = Duration::from_secs(3);

/// The bounds of every wait (DESIGN §4), said with `set` or `set local`.
macro_rules! limits {
    ($set:literal) => {
        concat!(
            $set,
            " lock_timeout = '2s'; ",
            $set,
            " statement_timeout = '10s'; ",
            $set,
            " idle_in_transaction_session_timeout = '5s'"
        )
    };
}

/// The bounds of what is one statement and no transaction; and nothing of ours is worth being compiled by the server before
/// it is run. A pooler that hands a session on with every transaction does
/// not keep them as it keeps those of verbs ([`BEGIN`]): there, they are the role's to have (`alter role … set`).
const SESSION: &str = concat!(limits!("set"), "; set jit = off");

async fn begin_on(
    pool: &PgPool,
    doing: &'static str,
) -> Result<(Transaction<'static, Postgres>, Timestamp), Error> {
    let mut transaction = pool.begin_with(BEGIN).await.doing(doing)?;
    let now =
        sqlx::query_scalar("select clock_timestamp()").fetch_one(&mut *transaction).await.doing(doing)?;
    Ok((transaction, now))
}

/// A verb touches a few rows, each by its key. The planner is told so: while a table is small or its statistics are old, it
/// would rather read all of it once to join it with a batch (measured on 10,000 jobs: 4.8 ms a store instead of 0.2), and
/// would plan the same statements anew every time.
macro_rules! by_keys {
    ($set:literal) => {
        concat!(
            "; ",
            $set,
            " enable_hashjoin = off; ",
            $set,
            " enable_mergejoin = off; ",
            $set,
            " enable_seqscan = off; ",
            $set,
            " plan_cache_mode = force_generic_plan"
        )
    };
}

/// [`SESSION`], for lists: to plan one takes as long as to run it, and what differs from person to person is how many rows are
/// passed by, not the way to them. Left to itself the server makes a new plan each time or keeps one, as its last sample of
/// the table happens to have it.
const SESSION_OF_PAGES: &str =
    concat!(limits!("set"), "; set jit = off; set plan_cache_mode = force_generic_plan");

/// [`SESSION`], where nothing is done but verbs.
const SESSION_BY_KEYS: &str = concat!(limits!("set"), "; set jit = off", by_keys!("set"));

/// How a verb begins, in one round trip.
pub(crate) const BEGIN: &str = concat!("begin; ", limits!("set local"), by_keys!("set local"));

/// How what is only read is planned.
#[derive(Clone, Copy)]
pub(crate) enum Plans {
    /// Whole pages with what was said in them: for their own numbers.
    OfPages,
    /// A few rows, each by its key, as verbs are.
    OfKeys,
}

impl Plans {
    fn begin(self) -> &'static str {
        match self {
            Self::OfPages => {
                concat!("begin isolation level repeatable read read only; ", limits!("set local"))
            }
            Self::OfKeys => {
                concat!(
                    "begin isolation level repeatable read read only; ",
                    limits!("set local"),
                    by_keys!("set local")
                )
            }
        }
    }
}
