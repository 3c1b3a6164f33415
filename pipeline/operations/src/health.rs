//! How the database that carries the ledger is doing: what operators of PostgreSQL look at first.
//!
//! Views and counters of the server alone, none of our rows: a read costs the same with any history. A role
//! without `pg_read_all_stats` sees the ages of its own sessions, which is to say of every process of ours.

use db::{Error, query_as};
use job::Timestamp;

use crate::{
    Operations,
    backlog::{add_counts, counts_of},
    verify::patience,
};

/// Tables whose rows are rewritten as jobs move: what vacuum must keep up with. A fixed list keeps labels few,
/// and other people's tables of a shared database out.
const BUSY_TABLES: [&str; 7] = [
    "action_items",
    "conversations",
    "finalization_jobs",
    "finalization_totals",
    "memories",
    "stage_checkpoints",
    "webhook_deliveries",
];

/// What a session can be doing; `waiting` is for a lock.
const SESSION_STATES: [&str; 4] = ["active", "waiting", "idle", "idle_in_transaction"];

/// The health of the database. Counters are the server's own and are reset with its statistics.
#[derive(Clone, Debug, Default, PartialEq, sqlx::FromRow)]
pub struct Health {
    /// Per busy table.
    #[sqlx(skip)]
    pub tables: Vec<TableHealth>,
    /// Sessions of this database per state, always all four: (state, count).
    #[sqlx(skip)]
    pub sessions: Vec<(&'static str, i64)>,
    /// How many sessions the whole server allows.
    pub sessions_allowed: i64,
    /// Seconds since the oldest open transaction of this database began, prepared ones included.
    pub oldest_transaction_age: f64,
    /// How many transactions ago the oldest snapshot was taken that vacuum must respect.
    pub oldest_snapshot_age: i64,
    /// Bytes written to the write-ahead log since the server was made.
    pub wal_bytes: f64,
    /// Transactions committed, and rolled back.
    pub commits: i64,
    pub rollbacks: i64,
    /// Blocks found in the server's cache.
    pub blocks_cached: i64,
    /// Blocks asked of the operating system.
    pub blocks_read: i64,
    pub deadlocks: i64,
    /// Bytes on disk of this database.
    pub bytes: i64,
    /// Which databases these are: when their server was started, which no other one was, and their names.
    #[sqlx(skip)]
    pub databases: Vec<(Timestamp, String)>,
}

/// The health of one table, as the server estimates it.
#[derive(Clone, Debug, PartialEq, sqlx::FromRow)]
pub struct TableHealth {
    pub name: String,
    /// Rows that are there.
    pub live: i64,
    /// Rows that are gone and not yet vacuumed away.
    pub dead: i64,
    /// Seconds since it was vacuumed last, by hand or by itself; none when it never was.
    pub vacuumed_ago: Option<f64>,
}

impl Health {
    /// The same of two shards: their tables are added up, and what belongs to a whole database or server where it is another one.
    pub fn add(&mut self, other: &Self) {
        for table in &other.tables {
            match self.tables.iter_mut().find(|known| known.name == table.name) {
                Some(known) => known.add(table),
                None => self.tables.push(table.clone()),
            }
        }
        if other.databases.iter().all(|database| self.databases.contains(database)) {
            return;
        }
        let is_known = |server: &Timestamp| self.databases.iter().any(|(known, _)| known == server);
        if !other.databases.iter().all(|(server, _)| is_known(server)) {
            self.sessions_allowed += other.sessions_allowed;
            self.wal_bytes += other.wal_bytes;
        }
        self.databases.extend(other.databases.iter().cloned());
        add_counts(&mut self.sessions, &other.sessions);
        self.oldest_transaction_age = self.oldest_transaction_age.max(other.oldest_transaction_age);
        self.oldest_snapshot_age = self.oldest_snapshot_age.max(other.oldest_snapshot_age);
        self.commits += other.commits;
        self.rollbacks += other.rollbacks;
        self.blocks_cached += other.blocks_cached;
        self.blocks_read += other.blocks_read;
        self.deadlocks += other.deadlocks;
        self.bytes += other.bytes;
    }
}

impl TableHealth {
    fn add(&mut self, other: &Self) {
        self.live += other.live;
        self.dead += other.dead;
        let ages = [self.vacuumed_ago, other.vacuumed_ago];
        self.vacuumed_ago = ages.into_iter().flatten().reduce(f64::max);
    }
}

impl Operations {
    /// One bounded read of the server's own views, each of its three statements no longer than `longest`.
    ///
    /// # Errors
    /// When the database does not answer, not in time, or keeps these views from our role.
    pub async fn health(&self, longest: &str) -> Result<Health, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        patience(&mut transaction, longest).await?;
        // Besides sessions, a prepared transaction, a replication slot and a standby that gives feedback can each keep vacuum
        // from removing what is dead.
        let Server { health, started_at, name } =
            query_as!("servers/database.sql", now).fetch_one(&mut *transaction).await?;
        // The session that asks does not count.
        let counted = query_as!("servers/activity.sql").fetch_all(&mut *transaction).await?;
        let tables =
            query_as!("servers/tables.sql", now, BUSY_TABLES.as_slice()).fetch_all(&mut *transaction).await?;
        let sessions = counts_of(SESSION_STATES, &counted);
        Ok(Health { tables, sessions, databases: vec![(started_at, name)], ..health })
    }
}

#[derive(sqlx::FromRow)]
struct Server {
    #[sqlx(flatten)]
    health: Health,
    started_at: Timestamp,
    name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(server: i64, database: &str) -> Health {
        let started = Timestamp::from_timestamp_nanos(server);
        Health {
            sessions_allowed: 100,
            wal_bytes: 7.0,
            commits: 5,
            databases: vec![(started, database.to_owned())],
            ..Health::default()
        }
    }

    #[test]
    fn health_counts_per_database_and_per_server_once() {
        let mut sum = of(1, "a");
        let counts = |sum: &Health| (sum.sessions_allowed, sum.wal_bytes as i64, sum.commits);
        sum.add(&of(1, "a"));
        assert_eq!(counts(&sum), (100, 7, 5), "another shard in the same database");
        sum.add(&of(1, "b"));
        assert_eq!(counts(&sum), (100, 7, 10), "another database of the same server, whatever it is called");
        sum.add(&of(2, "a"));
        assert_eq!(counts(&sum), (200, 14, 15));
    }
}
