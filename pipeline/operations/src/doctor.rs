//! What a deployment looks like from inside its database: facts; what they mean is said by who asks.

use db::{Doing, Error, MIGRATOR, applied};
use job::Timestamp;
use sqlx::PgConnection;

use crate::{LastRound, Operations, round::last_round};

const DOING: &str = "examining the deployment";

/// Facts about a deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct Examination {
    /// The database's clock.
    pub at: Timestamp,
    /// The server's version.
    pub server: String,
    /// Migrations that this program knows and the database lacks.
    pub missing_migrations: Vec<i64>,
    /// Migrations that the database has and this program does not know: it is older than another one.
    pub unknown_migrations: Vec<i64>,
    /// Extensions besides PL/pgSQL; none is needed.
    pub extensions: Vec<String>,
    /// Settings that durability rests on, and that are off.
    pub unsafe_settings: Vec<String>,
    /// Connections in use, and how many there may be.
    pub connections: (i64, i64),
    /// Live jobs that wait for no slot and whose check is an hour overdue, counted to 1,000.
    pub without_owners: i64,
    /// Leases that ran out more than a minute ago, counted to 1,000: no process watches.
    pub unwatched_leases: i64,
    /// Transactions older than a minute, oldest first, ten at most. They hold back vacuum.
    pub old_transactions: Vec<OldTransaction>,
    /// Prepared transactions and replication slots that hold back vacuum, by name.
    pub holding_back: Vec<String>,
    /// Sessions that wait for a lock for more than five seconds.
    pub waiting_for_locks: i64,
    /// Dead rows per live one, of the tables that change most, where there are more dead than live and than 10,000.
    pub bloated: Vec<(String, f64)>,
    /// The reconciler's last round.
    pub last_round: Option<LastRound>,
}

/// A session whose transaction is old. Its statement is not shown: it may hold a person's words.
#[derive(Clone, Debug, PartialEq, sqlx::FromRow)]
pub struct OldTransaction {
    /// Its process on the server.
    pub pid: i32,
    /// What the client calls itself.
    pub application: String,
    /// `active`, `idle in transaction`, …
    pub state: String,
    /// Seconds since it began.
    pub seconds: f64,
}

impl Operations {
    /// Looks at the deployment. A database without our schema is an answer, too.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn examine(&self) -> Result<Examination, Error> {
        let (mut transaction, at) = self.db.begin(DOING).await?;
        let connection = &mut *transaction;
        let applied = applied(connection).await.doing(DOING)?;
        let known: Vec<i64> = MIGRATOR.iter().map(|migration| migration.version).collect();
        let missing: Vec<i64> = known.iter().copied().filter(|version| !applied.contains(version)).collect();
        let mut found = Examination {
            at,
            server: text(connection, "select current_setting('server_version')").await.doing(DOING)?,
            unknown_migrations: applied.iter().copied().filter(|version| !known.contains(version)).collect(),
            missing_migrations: missing,
            extensions: texts(connection, "select extname::text from pg_extension where extname <> 'plpgsql' order by 1")
                .await
                .doing(DOING)?,
            unsafe_settings: texts(
                connection,
                "select name || ' = ' || setting from pg_settings \
                 where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off' order by 1",
            )
            .await
            .doing(DOING)?,
            connections: sqlx::query_as(
                "select count(*), current_setting('max_connections')::bigint from pg_stat_activity \
                 where backend_type = 'client backend'",
            )
            .fetch_one(&mut *connection)
            .await
            .doing(DOING)?,
            without_owners: 0,
            unwatched_leases: 0,
            old_transactions: old_transactions(connection).await.doing(DOING)?,
            holding_back: texts(
                connection,
                "select 'prepared transaction ' || gid from pg_prepared_xacts \
                 where prepared < statement_timestamp() - interval '1 minute' \
                 union all select 'replication slot ' || slot_name from pg_replication_slots where not active \
                     and (xmin is not null or catalog_xmin is not null)",
            )
            .await
            .doing(DOING)?,
            waiting_for_locks: number(
                connection,
                "select count(*) from pg_stat_activity where wait_event_type = 'Lock' \
                     and state_change < statement_timestamp() - interval '5 seconds'",
            )
            .await
            .doing(DOING)?,
            bloated: Vec::new(),
            last_round: None,
        };
        if found.missing_migrations.is_empty() {
            look_at_rows(connection, &mut found).await.doing(DOING)?;
        }
        Ok(found)
    }
}

async fn old_transactions(connection: &mut PgConnection) -> Result<Vec<OldTransaction>, sqlx::Error> {
    sqlx::query_as(
        "select pid, application_name as application, coalesce(state, backend_type) as state, \
             extract(epoch from clock_timestamp() - xact_start)::float8 as seconds \
         from pg_stat_activity where xact_start < statement_timestamp() - interval '1 minute' \
             and backend_type not in ('autovacuum worker', 'walsender') order by xact_start limit 10",
    )
    .fetch_all(connection)
    .await
}

async fn look_at_rows(connection: &mut PgConnection, found: &mut Examination) -> Result<(), sqlx::Error> {
    found.without_owners = number(
        connection,
        "select (select count(*) from (select from finalization_jobs where status = 'leased' \
                 and reconcile_after_at < statement_timestamp() - interval '1 hour' limit 1000) leases) \
             + (select count(*) from (select from finalization_jobs where status = 'blocked_byok' \
                 and reconcile_after_at < statement_timestamp() - interval '1 hour' limit 1000) parked)",
    )
    .await?;
    found.unwatched_leases = number(
        connection,
        "select count(*) from (select from finalization_jobs where status = 'leased' \
             and reconcile_after_at < statement_timestamp() - interval '1 minute' limit 1000) o",
    )
    .await?;
    found.bloated = sqlx::query_as(
        "select relname::text, n_dead_tup::float8 / greatest(n_live_tup, 1) from pg_stat_user_tables \
         where relname in ('finalization_jobs', 'finalization_totals', 'webhook_deliveries', \
             'conversations') and n_dead_tup > 10000 and n_dead_tup > n_live_tup order by relname",
    )
    .fetch_all(&mut *connection)
    .await?;
    found.last_round = last_round(connection).await?;
    Ok(())
}

async fn number(connection: &mut PgConnection, sql: &'static str) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(sql).fetch_one(connection).await
}

async fn text(connection: &mut PgConnection, sql: &'static str) -> Result<String, sqlx::Error> {
    sqlx::query_scalar(sql).fetch_one(connection).await
}

async fn texts(connection: &mut PgConnection, sql: &'static str) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar(sql).fetch_all(connection).await
}
