//! The pools, and how an operation begins.

use std::{panic::Location, time::Duration};

use records::Timestamp;
use sqlx::{
    Executor, PgPool, Postgres, Transaction,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use tracing::Instrument;

use crate::{
    Db, Error, Hosts, Secrets, Shard, Waker,
    deadline::{ANSWER, SuspectConnections, is_idle},
    locate::Locator,
    query_scalar,
};

/// What sessions call themselves where nothing else was asked for; `verify` knows them by it.
const APPLICATION: &str = "listen";

/// A transaction on a session of its own.
type Begun = Transaction<'static, Postgres>;

impl Db {
    /// Makes the pools without connecting yet: a database that is down at start is a matter of readiness,
    /// not of start-up.
    pub fn new(hosts: impl Into<Hosts>, connections: u32, secrets: Secrets, shard: Shard) -> Self {
        let hosts = hosts.into().map(|options| shard.options(named(options)));
        let options = hosts.first().clone();
        let suspects = SuspectConnections::default();
        let locator = Locator::new(hosts, shard, suspects.clone());
        let pool = |size| sessions(size, shard, &locator, &suspects).connect_lazy_with(options.clone());
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
        }
    }

    /// The sessions for everything but renewals: for one statement that needs no transaction.
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// The database's clock: the only clock that decisions know.
    pub async fn now(&self) -> Result<Timestamp, Error> {
        Ok(query_scalar!("sessions/clock.sql").fetch_one(&self.pool).await?)
    }

    /// The waker of this process: raised after commits, waited for by its workers.
    pub fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Closes the pools; operations in flight finish first.
    pub async fn close(&self) {
        self.renewals.close().await;
        self.pool.close().await;
    }

    /// Begins an operation: a transaction in which every wait is bounded (DESIGN §4), and the database's clock.
    #[track_caller]
    pub fn begin(&self) -> impl Future<Output = Result<(Begun, Timestamp), Error>> {
        let begin = self.begin_with_clock(&self.pool);
        async {
            let (mut transaction, now) = begin.await?;
            self.hold_turn(&mut transaction).await?;
            Ok((transaction, now))
        }
    }

    /// Begins an operation whose first statement reads the clock itself.
    #[track_caller]
    pub fn begin_without_clock(&self) -> impl Future<Output = Result<Begun, Error>> {
        self.begin_on(&self.pool, BEGIN)
    }

    /// The same for what may be lost with the server: its commit does not wait for the disk.
    #[track_caller]
    pub fn begin_unflushed(&self) -> impl Future<Output = Result<Begun, Error>> {
        self.begin_on(&self.pool, BEGIN_UNFLUSHED)
    }

    /// Begins a renewal, through the sessions that are reserved for renewals.
    #[track_caller]
    pub fn begin_renewing(&self) -> impl Future<Output = Result<(Begun, Timestamp), Error>> {
        self.begin_with_clock(&self.renewals)
    }

    /// Begins a transaction that only reads and sees one moment, so that what it shows is never torn by a completion or
    /// a deletion.
    #[track_caller]
    pub fn begin_reading(&self) -> impl Future<Output = Result<Begun, Error>> {
        self.begin_on(&self.pool, BEGIN_READING)
    }

    #[track_caller]
    fn begin_with_clock(
        &self,
        pool: &PgPool,
    ) -> impl Future<Output = Result<(Begun, Timestamp), Error>> + use<> {
        let begin = self.begin_on(pool, BEGIN);
        async {
            let mut transaction = begin.await?;
            let now = query_scalar!("sessions/clock.sql");
            let now = now.fetch_one(&mut *transaction).await?;
            Ok((transaction, now))
        }
    }

    /// In a task of its own, which goes on when the caller is dropped. sqlx 0.9.0 forgets a `begin` that is dropped before its
    /// answer (transact-rs/sqlx#4393, mended after 0.9.0): its pool would hand the open transaction to the next user, whose
    /// writes would be acknowledged and never committed.
    #[track_caller]
    fn begin_on(
        &self,
        pool: &PgPool,
        statement: &'static str,
    ) -> impl Future<Output = Result<Begun, Error>> + use<> {
        let at = Location::caller();
        let (db, pool) = (self.clone(), pool.clone());
        let begin = async move { pool.begin_with(statement).await.map_err(|source| Error::of(source, at)) };
        let begin = async move { db.within(ANSWER, begin).await };
        async move {
            match tokio::spawn(begin.in_current_span()).await {
                Ok(begun) => begun,
                Err(failed) => match failed.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(_) => Err(Error::of(sqlx::Error::PoolClosed, at)),
                },
            }
        }
    }
}

/// Without the setting of how floats are written, which the driver asks for and PgBouncer refuses: servers since 12 write
/// them exactly by themselves.
fn named(options: PgConnectOptions) -> PgConnectOptions {
    let options = options.extra_float_digits(None);
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

/// A pool of `size` sessions. Those that idled, and all while some are suspect, are asked before they are used again.
fn sessions(size: u32, shard: Shard, locator: &Locator, suspects: &SuspectConnections) -> PgPoolOptions {
    let (locator, before, after) = (locator.clone(), suspects.clone(), suspects.clone());
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
                suspects.ask(session, (state.age, state.idle_for)).await
            })
        })
        .after_release(move |session, _| {
            let is_doubted = after.are_raised();
            Box::pin(async move { if is_doubted { is_idle(session).await } else { Ok(true) } })
        })
}

/// Sessions that renew leases and do nothing else.
const RENEWALS: u32 = 2;

/// How long a session is waited for.
const ACQUIRING: Duration = Duration::from_secs(3);

/// The bounds of every wait of a single statement, which sees what was committed: where the role or the database has another
/// default, what comes at once would be refused as a conflict. Behind a pooler that hands sessions on with every transaction they are the
/// role's to have (`alter role … set`). Compiling a plan takes up to a second, and saves less than that in what is asked here.
const SESSION: &str = "set lock_timeout = '2s'; set statement_timeout = '10s'; \
    set idle_in_transaction_session_timeout = '5s'; set default_transaction_isolation = 'read committed'; \
    set standard_conforming_strings = on; set jit = off";

/// How an operation begins, with the bounds of its waits, in one round trip.
pub(crate) const BEGIN: &str = "begin isolation level read committed; set local lock_timeout = '2s'; \
    set local statement_timeout = '10s'; set local idle_in_transaction_session_timeout = '5s'";

/// The same for what may be lost with the server.
const BEGIN_UNFLUSHED: &str = "begin isolation level read committed; set local lock_timeout = '2s'; \
    set local statement_timeout = '10s'; set local idle_in_transaction_session_timeout = '5s'; \
    set local synchronous_commit = off";

/// The same for what is only read, of one moment.
const BEGIN_READING: &str = "begin isolation level repeatable read read only; set local lock_timeout = '2s'; \
    set local statement_timeout = '10s'; set local idle_in_transaction_session_timeout = '5s'";

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncReadExt, net::TcpListener};

    use super::*;

    #[tokio::test]
    async fn session_start_up_parameters_are_accepted_by_pgbouncer() -> std::io::Result<()> {
        // What it takes as it is delivered, and the user and the database.
        const TAKEN: [&str; 6] =
            ["user", "database", "DateStyle", "client_encoding", "TimeZone", "application_name"];
        let server = TcpListener::bind("127.0.0.1:0").await?;
        let options =
            PgConnectOptions::new_without_pgpass().host("127.0.0.1").port(server.local_addr()?.port());
        let options = options.username("ann").database("listen").ssl_mode(sqlx::postgres::PgSslMode::Disable);
        let db = Db::new(options, 1, Secrets::default(), Shard::default());
        let asking = tokio::spawn(async move { db.pool().acquire().await.is_ok() });
        let (mut session, _) = server.accept().await?;
        let mut packet = vec![0; usize::try_from(session.read_u32().await? - 4).unwrap_or_default()];
        session.read_exact(&mut packet).await?;
        let words = String::from_utf8_lossy(packet.get(4..).unwrap_or_default()).into_owned();
        let asked: Vec<&str> =
            words.split('\0').step_by(2).take_while(|parameter| !parameter.is_empty()).collect();
        assert!(asked.len() > 4 && asked.iter().all(|parameter| TAKEN.contains(parameter)), "{asked:?}");
        asking.abort();
        Ok(())
    }
}
