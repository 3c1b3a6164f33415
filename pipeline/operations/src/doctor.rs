//! What a deployment looks like from inside its database: facts; what they mean is said by who asks.

use db::{Error, MIGRATOR, Trouble, applied, encoding, query_as, query_scalar, sql, writes};
use job::Timestamp;
use sqlx::PgConnection;

use crate::{LastRound, Operations, round::last_round};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Examination {
    /// The database's clock.
    pub at: Timestamp,
    pub server: String,
    pub encoding: String,
    pub writes: bool,
    /// Nothing more fits on the disk of the database, or on that of its temporary files: it accepts writes, and fails.
    pub disk_is_full: bool,
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
    /// How many seconds the newest job was admitted ahead of the database's clock, which was set back since.
    pub ahead: f64,
    /// Transactions older than a minute, oldest first, ten at most. They hold back vacuum.
    pub old_transactions: Vec<OldTransaction>,
    /// Prepared transactions and replication slots that hold back vacuum, by name.
    pub holding_back: Vec<String>,
    /// Our role, if it sees no transactions but its own: what is not among the old ones may be there all the same.
    pub blind_role: Option<String>,
    /// Sessions that wait for a lock for more than five seconds.
    pub waiting_for_locks: i64,
    /// Sessions that keep a table of ours from being read: nothing was asked of the tables then.
    pub locking: Vec<OldTransaction>,
    /// Dead rows per live one, of the tables that change most, where there are more dead than live and than 10,000.
    pub bloated: Vec<(String, f64)>,
    pub last_round: Option<LastRound>,
}

/// A session whose transaction is old. Its statement is not shown: it may hold a person's words.
#[derive(Clone, Debug, PartialEq, sqlx::FromRow)]
pub struct OldTransaction {
    pub pid: i32,
    /// What the client calls itself.
    pub application: String,
    /// `active`, `idle in transaction`, …
    pub state: String,
    pub seconds: f64,
}

impl Examination {
    /// Whether the tables are this version's, and no other session keeps them locked.
    pub fn has_readable_tables(&self) -> bool {
        self.missing_migrations.is_empty() && self.locking.is_empty()
    }
}

impl Operations {
    /// Looks at the deployment. A database without our schema is an answer, too.
    pub async fn examine(&self) -> Result<Examination, Error> {
        let (mut transaction, at) = self.db.begin().await?;
        let connection = &mut *transaction;
        let applied = applied(connection).await?;
        let known: Vec<i64> = MIGRATOR.iter().map(|migration| migration.version).collect();
        let missing: Vec<i64> = known.iter().copied().filter(|version| !applied.contains(version)).collect();
        let mut found = Examination {
            at,
            server: query_scalar!("doctor/server_version.sql").fetch_one(&mut *connection).await?,
            encoding: encoding(connection).await?,
            writes: writes(connection).await?,
            unknown_migrations: applied.iter().copied().filter(|version| !known.contains(version)).collect(),
            missing_migrations: missing,
            extensions: texts(connection, sql!("doctor/extensions.sql")).await?,
            unsafe_settings: texts(connection, sql!("doctor/unsafe_settings.sql")).await?,
            connections: query_as!("doctor/connections.sql").fetch_one(&mut *connection).await?,
            old_transactions: query_as!("doctor/old_transactions.sql").fetch_all(&mut *connection).await?,
            holding_back: texts(connection, sql!("doctor/holding_back.sql")).await?,
            blind_role: texts(connection, sql!("doctor/blind_role.sql")).await?.pop(),
            waiting_for_locks: number(connection, sql!("doctor/waiting_for_locks.sql")).await?,
            locking: query_as!("doctor/locked_tables.sql").fetch_all(&mut *connection).await?,
            // Asked below, where they can be.
            ..Examination::default()
        };
        if found.has_readable_tables() {
            found.without_owners = number(connection, sql!("doctor/without_owners.sql")).await?;
            found.unwatched_leases = number(connection, sql!("doctor/unwatched_leases.sql")).await?;
            found.ahead = query_scalar!("doctor/ahead.sql").fetch_one(&mut *connection).await?;
            found.bloated = query_as!("doctor/bloated.sql").fetch_all(&mut *connection).await?;
            found.last_round = last_round(connection).await?;
        }
        // Last: the transaction is over when it fails.
        found.disk_is_full = match spill(connection).await.map_err(Error::from) {
            Err(error) if error.trouble() == Some(Trouble::Disk) => true,
            spilled => spilled.map(|()| false)?,
        };
        Ok(found)
    }
}

/// Makes the server write half a megabyte into a temporary file, which a standby does, too: where such files are, and where the
/// database is.
async fn spill(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query("set local work_mem = '64kB'").execute(&mut *connection).await?;
    number(connection, sql!("doctor/spill.sql")).await?;
    sqlx::query("set local temp_tablespaces = ''").execute(&mut *connection).await?;
    number(connection, sql!("doctor/spill.sql")).await.map(drop)
}

async fn number(connection: &mut PgConnection, sql: &'static str) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(sql).fetch_one(connection).await
}

async fn texts(connection: &mut PgConnection, sql: &'static str) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar(sql).fetch_all(connection).await
}
