//! The pools, and how a verb begins.

use std::{sync::Arc, time::Duration};

use job::{Policy, Timestamp};
use sqlx::{
    PgConnection, PgPool, Postgres, Transaction,
    migrate::Migrator,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::{
    RequestKey, Waker,
    admit::finalize::{Asked, Finalized},
    complete::{Completion, Finished},
    conversations::{Seen, Shown},
    error::{Doing, Error},
    keys::KeyOwner,
    run_input::{About, RunInput},
    together::Together,
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
    /// Called for every bell that could not be written (`listen_fallback_total`).
    pub enqueue_failed: Arc<dyn Fn() + Send + Sync>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { connections: 20, bells: true, policy: Policy::default(), enqueue_failed: Arc::new(|| ()) }
    }
}

/// The ledger of one process: two pools, the policy, and the waker of its own workers. Cheap to clone.
#[derive(Clone)]
pub struct Ledger {
    pub(crate) pool: PgPool,
    pub(crate) renewals: PgPool,
    pub(crate) policy: Policy,
    pub(crate) bells: bool,
    pub(crate) waker: Waker,
    pub(crate) enqueue_failed: Arc<dyn Fn() + Send + Sync>,
    /// The name of the request on whose behalf this handle creates.
    pub(crate) request_key: Option<Arc<RequestKey>>,
    pub(crate) key_owners: Together<[u8; 32], Option<KeyOwner>>,
    pub(crate) admissions: Together<Arc<Asked>, Finalized>,
    pub(crate) completions: Together<Arc<Completion>, Finished>,
    pub(crate) inputs: Together<About, Option<RunInput>>,
    pub(crate) views: Together<Shown, Seen>,
}

impl Ledger {
    /// Makes the pools without connecting yet: a database that is down at start is a matter of readiness,
    /// not of start-up. Leases are renewed through a pool of their own, so that a busy API cannot kill them.
    pub fn new(options: PgConnectOptions, settings: Settings) -> Self {
        let pool = |size: u32| {
            PgPoolOptions::new()
                .max_connections(size)
                .acquire_timeout(Duration::from_secs(3))
                .connect_lazy_with(options.clone())
        };
        Self {
            pool: pool(settings.connections),
            renewals: pool(2),
            policy: settings.policy,
            bells: settings.bells,
            waker: Waker::default(),
            enqueue_failed: settings.enqueue_failed,
            request_key: None,
            key_owners: Together::default(),
            admissions: Together::default(),
            completions: Together::default(),
            inputs: Together::default(),
            views: Together::default(),
        }
    }

    /// Applies the migrations.
    ///
    /// # Errors
    /// When the database cannot be reached or a migration fails.
    pub async fn migrate(&self) -> Result<(), Error> {
        MIGRATOR.run(&self.pool).await.map_err(sqlx::Error::from).doing("migrating the schema")
    }

    /// Whether the schema is the one this binary was built for: part of readiness.
    ///
    /// # Errors
    /// When the database cannot be reached.
    pub async fn is_migrated(&self) -> Result<bool, Error> {
        let newest = MIGRATOR.iter().map(|migration| migration.version).max().unwrap_or(0);
        let found: Option<bool> = sqlx::query_scalar(
            "select exists (select from _sqlx_migrations where version = $1 and success) \
             where to_regclass('_sqlx_migrations') is not null",
        )
        .bind(newest)
        .fetch_optional(&self.pool)
        .await
        .doing("looking at the schema's version")?;
        Ok(found.unwrap_or(false))
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
        self.pool.close().await;
    }

    /// Begins a verb: a transaction in which nobody waits for ever (DESIGN §4), and the database's clock.
    pub(crate) async fn begin(
        &self,
        doing: &'static str,
    ) -> Result<(Transaction<'static, Postgres>, Timestamp), Error> {
        let mut transaction = self.pool.begin().await.doing(doing)?;
        let now = bound(&mut transaction).await.doing(doing)?;
        Ok((transaction, now))
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

/// Bounds every wait of the present transaction (DESIGN §4) and reads the clock, in one round trip.
///
/// A verb touches a few rows, each by its key. The planner is told so: while a table is small or its statistics are old, it
/// would rather read all of it once to join it with a batch (measured on 10,000 jobs: 4.8 ms a store instead of 0.2), and
/// would plan the same statements anew every time.
pub(crate) async fn bound(connection: &mut PgConnection) -> Result<Timestamp, sqlx::Error> {
    sqlx::query_scalar(
        "select clock_timestamp() from (select \
             set_config('lock_timeout', '2s', true), set_config('statement_timeout', '10s', true), \
             set_config('idle_in_transaction_session_timeout', '5s', true), \
             set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), \
             set_config('plan_cache_mode', 'force_generic_plan', true)) limits",
    )
    .fetch_one(connection)
    .await
}

/// Begins a transaction that only reads, sees one moment, and in which nobody waits for ever; in one round trip.
macro_rules! begin_reading {
    ($($plans:literal)?) => {
        concat!(
            "begin isolation level repeatable read read only; set local lock_timeout = '2s'; \
             set local statement_timeout = '10s'; set local idle_in_transaction_session_timeout = '5s'",
            $($plans)?
        )
    };
}

/// How what is only read is planned.
#[derive(Clone, Copy)]
pub(crate) enum Plans {
    /// Pages and filters: for their own numbers.
    OfPages,
    /// A few rows, each by its key, as verbs are.
    OfKeys,
}

impl Plans {
    fn begin(self) -> &'static str {
        match self {
            Self::OfPages => begin_reading!(),
            Self::OfKeys => begin_reading!(
                "; set local enable_hashjoin = off; set local enable_mergejoin = off; \
                 set local plan_cache_mode = force_generic_plan"
            ),
        }
    }
}
