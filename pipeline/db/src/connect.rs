//! The pools, and how an operation begins.

use std::time::Duration;

use records::Timestamp;
use sqlx::{
    Executor, PgConnection, PgPool, Postgres, Transaction,
    migrate::Migrator,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::{
    Db, Doing, Error, Hosts, Secrets, Shard, Waker,
    deadline::{BELIEVED, SuspectConnections},
    locate::Locator,
    release::Releases,
    shard,
};

/// The schema, forward only (`migrations/`).
pub static MIGRATOR: Migrator = sqlx::migrate!("../../migrations");

/// What sessions call themselves where nothing else was asked for; `verify` knows them by it.
const APPLICATION: &str = "listen";

impl Db {
    /// Makes the pools without connecting yet: a database that is down at start is a matter of readiness,
    /// not of start-up.
    pub fn new(hosts: impl Into<Hosts>, connections: u32, secrets: Secrets, shard: Shard) -> Self {
        let hosts = hosts.into().map(|options| shard.options(named(options)));
        let options = hosts.first().clone();
        let locator = Locator::new(hosts, shard);
        let suspects = SuspectConnections::default();
        let releases = Releases::default();
        let pool =
            |size| sessions(size, shard, &locator, &suspects, &releases).connect_lazy_with(options.clone());
        let (pool, renewals) = (pool(connections), pool(RENEWALS));
        locator.watch([pool.clone(), renewals.clone()]);
        Self {
            pool,
            renewals,
            secrets,
            waker: Waker::default(),
            request_key: None,
            shard,
            locator,
            suspects,
            releases,
        }
    }

    /// The sessions for everything but renewals: for one statement that needs no transaction.
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// The keys under which secrets are stored.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Applies the migrations that are missing. Of several processes that do so at once, each migration is applied by one.
    ///
    /// # Errors
    /// When the database cannot be reached or a migration fails.
    pub async fn migrate(&self) -> Result<Migrated, Error> {
        const DOING: &str = "migrating the schema";
        self.locate().await?;
        // A migration takes as long as the tables are large.
        let unlimited = self.of_one();
        let migrated = apply_missing(self.shard, &unlimited).await.doing(DOING);
        unlimited.close().await;
        migrated
    }

    /// Whether the schema is the one this binary was built for: part of readiness.
    ///
    /// # Errors
    /// When the database cannot be reached.
    pub async fn is_migrated(&self) -> Result<bool, Error> {
        const DOING: &str = "looking at the schema's version";
        // Two queries: one that names a missing table is refused, whatever its `where` says.
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

    /// The waker of this process: raised after commits, waited for by its workers.
    pub fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Closes the pools; verbs in flight finish first.
    pub async fn close(&self) {
        self.renewals.close().await;
        self.pool.close().await;
    }

    /// A pool that goes with its only session, which has no limits but the server's own and takes no place of the shared pool.
    pub(crate) fn of_one(&self) -> PgPool {
        let options = self.pool.connect_options().as_ref().clone();
        let kept = PgPoolOptions::new().acquire_timeout(ACQUIRING).max_lifetime(None).idle_timeout(None);
        kept.max_connections(1).connect_lazy_with(options)
    }

    /// Begins an operation: a transaction in which every wait is bounded (DESIGN §4), and the database's clock.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn begin(
        &self,
        doing: &'static str,
    ) -> Result<(Transaction<'static, Postgres>, Timestamp), Error> {
        begin_on(&self.pool, doing).await
    }

    /// Begins an operation whose first statement reads the clock itself.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn begin_without_clock(
        &self,
        doing: &'static str,
    ) -> Result<Transaction<'static, Postgres>, Error> {
        self.pool.begin_with(BEGIN).await.doing(doing)
    }

    /// Begins a renewal, through the sessions that are reserved for renewals.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn begin_renewing(
        &self,
        doing: &'static str,
    ) -> Result<(Transaction<'static, Postgres>, Timestamp), Error> {
        begin_on(&self.renewals, doing).await
    }

    /// Begins a transaction that only reads and sees one moment, so that what it shows is never torn by a completion or
    /// a deletion.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn begin_reading(&self, doing: &'static str) -> Result<Transaction<'static, Postgres>, Error> {
        self.pool.begin_with(BEGIN_READING).await.doing(doing)
    }
}

fn named(options: PgConnectOptions) -> PgConnectOptions {
    match options.get_application_name() {
        Some(_) => options,
        None => options.application_name(APPLICATION),
    }
}

/// The state of the schema. Migrations are identified by their versions.
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
    /// The database is another shard: nothing was done.
    OtherShard(Shard),
}

/// The session that applies them ends with the pool, and its lock with it.
async fn apply_missing(shard: Shard, pool: &PgPool) -> Result<Migrated, sqlx::Error> {
    let mut session = pool.acquire().await?;
    lock_migrations(&mut session).await?;
    if let Some(other) = shard::other(shard, &mut session).await? {
        return Ok(Migrated::OtherShard(other));
    }
    shard::make(shard, &mut session).await?;
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

/// Waits until no other process migrates; the lock goes with the session.
///
/// By asking again, because a session that waits inside PostgreSQL for sqlx's own lock holds a snapshot, and
/// `create index concurrently` of the process that migrates waits for every snapshot: a deadlock.
async fn lock_migrations(session: &mut PgConnection) -> Result<(), sqlx::Error> {
    let lock = "select pg_try_advisory_lock(hashtext('listen migrate'))";
    while !sqlx::query_scalar::<_, bool>(lock).fetch_one(&mut *session).await? {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// A pool of `size` sessions, each checked when it is handed out and when it is released.
fn sessions(
    size: u32,
    shard: Shard,
    locator: &Locator,
    suspects: &SuspectConnections,
    releases: &Releases,
) -> PgPoolOptions {
    let (locator, before, releases) = (locator.clone(), suspects.clone(), releases.clone());
    PgPoolOptions::new()
        .max_connections(size)
        .acquire_timeout(ACQUIRING)
        .after_connect(move |connection, _| {
            let locator = locator.clone();
            Box::pin(async move {
                connection.execute(SESSION).await?;
                locator.check(connection).await?;
                shard.check(connection).await
            })
        })
        .test_before_acquire(false)
        .before_acquire(move |session, state| {
            let suspects = before.clone();
            Box::pin(async move {
                if suspects.is_outdated(state.age) {
                    return Ok(false);
                }
                match state.idle_for < BELIEVED && !suspects.are_raised() {
                    true => Ok(true),
                    false => suspects.ask(session).await,
                }
            })
        })
        .after_release(move |session, _| {
            let releases = releases.clone();
            Box::pin(async move { releases.is_reusable(session).await })
        })
}

/// Sessions that renew leases and do nothing else.
const RENEWALS: u32 = 2;

/// How long a session is waited for.
const ACQUIRING: Duration = Duration::from_secs(3);

/// The bounds of every wait of a single statement. Behind a pooler that hands sessions on with every transaction they are the
/// role's to have (`alter role … set`).
const SESSION: &str = "set lock_timeout = '2s'; set statement_timeout = '10s'; \
    set idle_in_transaction_session_timeout = '5s'";

/// How an operation begins, with the bounds of its waits, in one round trip.
pub(crate) const BEGIN: &str = "begin; set local lock_timeout = '2s'; set local statement_timeout = '10s'; \
    set local idle_in_transaction_session_timeout = '5s'";

/// The same for what is only read, of one moment.
const BEGIN_READING: &str = "begin isolation level repeatable read read only; set local lock_timeout = '2s'; \
    set local statement_timeout = '10s'; set local idle_in_transaction_session_timeout = '5s'";

async fn begin_on(
    pool: &PgPool,
    doing: &'static str,
) -> Result<(Transaction<'static, Postgres>, Timestamp), Error> {
    let mut transaction = pool.begin_with(BEGIN).await.doing(doing)?;
    let now =
        sqlx::query_scalar("select clock_timestamp()").fetch_one(&mut *transaction).await.doing(doing)?;
    Ok((transaction, now))
}

/// The versions of the migrations that were applied.
pub async fn applied(connection: &mut PgConnection) -> Result<Vec<i64>, sqlx::Error> {
    let there: bool = sqlx::query_scalar("select to_regclass('_sqlx_migrations') is not null")
        .fetch_one(&mut *connection)
        .await?;
    match there {
        false => Ok(Vec::new()),
        true => {
            sqlx::query_scalar("select version from _sqlx_migrations where success order by version")
                .fetch_all(connection)
                .await
        }
    }
}
