//! The pools, and how an operation begins.

use std::time::Duration;

use records::Timestamp;
use sqlx::{
    Executor, PgPool, Postgres, Transaction,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::{
    Db, Error, Hosts, Secrets, Shard, Waker,
    deadline::{BELIEVED, SuspectConnections},
    locate::Locator,
    release::Releases,
};

/// What sessions call themselves where nothing else was asked for; `verify` knows them by it.
const APPLICATION: &str = "listen";

impl Db {
    /// Makes the pools without connecting yet: a database that is down at start is a matter of readiness,
    /// not of start-up.
    pub fn new(hosts: impl Into<Hosts>, connections: u32, secrets: Secrets, shard: Shard) -> Self {
        let hosts = hosts.into().map(|options| shard.options(named(options)));
        let options = hosts.first().clone();
        let suspects = SuspectConnections::default();
        let locator = Locator::new(hosts, shard, suspects.clone());
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
            turn: None,
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

    /// The database's clock: the only clock that decisions know.
    pub async fn now(&self) -> Result<Timestamp, Error> {
        Ok(sqlx::query_scalar(include_str!("../sql/sessions/clock.sql")).fetch_one(&self.pool).await?)
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

    /// As [`of_one`], where the other sessions are opened.
    pub(crate) fn of_one(&self) -> PgPool {
        of_one(self.pool.connect_options().as_ref().clone())
    }

    /// Begins an operation: a transaction in which every wait is bounded (DESIGN §4), and the database's clock.
    pub async fn begin(&self) -> Result<(Transaction<'static, Postgres>, Timestamp), Error> {
        let (mut transaction, now) = begin_on(&self.pool).await?;
        self.hold_turn(&mut transaction).await?;
        Ok((transaction, now))
    }

    /// Begins an operation whose first statement reads the clock itself.
    pub async fn begin_without_clock(&self) -> Result<Transaction<'static, Postgres>, Error> {
        Ok(self.pool.begin_with(BEGIN).await?)
    }

    /// The same for what may be lost with the server: its commit does not wait for the disk.
    pub async fn begin_unflushed(&self) -> Result<Transaction<'static, Postgres>, Error> {
        Ok(self.pool.begin_with(BEGIN_UNFLUSHED).await?)
    }

    /// Begins a renewal, through the sessions that are reserved for renewals.
    pub async fn begin_renewing(&self) -> Result<(Transaction<'static, Postgres>, Timestamp), Error> {
        begin_on(&self.renewals).await
    }

    /// Begins a transaction that only reads and sees one moment, so that what it shows is never torn by a completion or
    /// a deletion.
    pub async fn begin_reading(&self) -> Result<Transaction<'static, Postgres>, Error> {
        Ok(self.pool.begin_with(BEGIN_READING).await?)
    }
}

fn named(options: PgConnectOptions) -> PgConnectOptions {
    match options.get_application_name() {
        Some(_) => options,
        None => options.application_name(APPLICATION),
    }
}

/// A pool that goes with its only session, which has no limits but the server's own and takes no place of the shared pool.
pub(crate) fn of_one(options: PgConnectOptions) -> PgPool {
    let kept = PgPoolOptions::new().acquire_timeout(ACQUIRING).max_lifetime(None).idle_timeout(None);
    kept.max_connections(1).connect_lazy_with(options)
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

/// The same for what may be lost with the server.
const BEGIN_UNFLUSHED: &str = "begin; set local lock_timeout = '2s'; set local statement_timeout = '10s'; \
    set local idle_in_transaction_session_timeout = '5s'; set local synchronous_commit = off";

/// The same for what is only read, of one moment.
const BEGIN_READING: &str = "begin isolation level repeatable read read only; set local lock_timeout = '2s'; \
    set local statement_timeout = '10s'; set local idle_in_transaction_session_timeout = '5s'";

async fn begin_on(pool: &PgPool) -> Result<(Transaction<'static, Postgres>, Timestamp), Error> {
    let mut transaction = pool.begin_with(BEGIN).await?;
    let now =
        sqlx::query_scalar(include_str!("../sql/sessions/clock.sql")).fetch_one(&mut *transaction).await?;
    Ok((transaction, now))
}
