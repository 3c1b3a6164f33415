//! The private PostgreSQL of `dev` and `demo`, and a database of theirs in it.

use std::time::Duration;

use anyhow::Context;
use embedded::{Cluster, Running, default_dir};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, postgres::PgConnectOptions};

/// A running server with a database of ours; the server stops by itself some time after the last client left.
pub(crate) struct Private {
    running: Running,
    name: String,
    /// A session in the database: while it is open, no other process takes the database for an abandoned one.
    presence: PgConnection,
}

impl Private {
    /// Joins or starts the private server and makes the database `name`, empty when `fresh`.
    pub(crate) async fn start(name: &str, fresh: bool) -> anyhow::Result<Self> {
        let dir = default_dir("listen").context("choosing a directory for the private database")?;
        let cluster = Cluster { dir, durable: true, linger: Duration::from_secs(10) };
        let running = cluster.ensure().await.context("starting the private database")?;
        let mut connection =
            running.options().connect().await.context("connecting to the private database")?;
        // Until this one is open, it looks abandoned: no process sweeps meanwhile.
        alone(&mut connection).await?;
        sweep(&mut connection).await.context("removing databases that were left behind")?;
        make(&mut connection, name, fresh).await?;
        let presence = running.options().database(name).connect().await;
        let presence = presence.with_context(|| format!("connecting to the database {name}"))?;
        connection.close().await?;
        Ok(Self { running, name: name.to_owned(), presence })
    }

    /// How to connect to the database.
    pub(crate) fn options(&self) -> PgConnectOptions {
        self.running.options().database(&self.name)
    }

    /// The same as a URL, for another process.
    pub(crate) fn url(&self) -> String {
        self.running.url_of(&self.name)
    }

    /// The server's version and where its data is, for a line on the screen.
    pub(crate) fn words(&self) -> String {
        format!("PostgreSQL {} in {}", self.running.version(), self.running.data_dir().display())
    }

    /// Drops the database: the demo leaves nothing behind.
    pub(crate) async fn drop_database(self) -> anyhow::Result<()> {
        let Self { running, name, presence } = self;
        let mut connection = running.options().connect().await?;
        alone(&mut connection).await?;
        // Not taken leave of: it may have died with its server long ago.
        drop(presence);
        execute(&mut connection, format!("drop database if exists {name} with (force)")).await?;
        connection.close().await?;
        Ok(())
    }
}

/// The advisory lock for making and removing databases.
const MAKING: i64 = 0x6c69_7374_656e;

/// Waits until no other process makes or removes databases, and keeps others from it until the session ends.
async fn alone(connection: &mut PgConnection) -> anyhow::Result<()> {
    sqlx::query("select pg_advisory_lock($1)").bind(MAKING).execute(connection).await?;
    Ok(())
}

/// Makes the database `name` where it is not there yet, empty when `fresh`.
async fn make(connection: &mut PgConnection, name: &str, fresh: bool) -> anyhow::Result<()> {
    if fresh {
        execute(connection, format!("drop database if exists {name} with (force)")).await?;
    }
    let there: bool = sqlx::query_scalar("select exists (select from pg_database where datname = $1)")
        .bind(name)
        .fetch_one(&mut *connection)
        .await?;
    if !there {
        execute(connection, format!("create database {name}")).await?;
    }
    Ok(())
}

/// Removes the databases of single runs without a session: their runs were killed.
async fn sweep(connection: &mut PgConnection) -> anyhow::Result<()> {
    let left: Vec<String> = sqlx::query_scalar(
        "select datname::text from pg_database where datname ~ '^listen_(demo|dev)_[0-9]+$' \
         and not exists (select from pg_stat_activity where datid = pg_database.oid)",
    )
    .fetch_all(&mut *connection)
    .await?;
    for name in left {
        if let Err(error) = execute(connection, format!("drop database if exists {name}")).await {
            // Another session uses it just now: the next run removes it.
            tracing::debug!(%error, name, "a database that was left behind stays");
        }
    }
    Ok(())
}

async fn execute(connection: &mut PgConnection, statement: String) -> anyhow::Result<()> {
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(connection).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use testbed::TestDatabase;

    use super::*;

    async fn is_there(session: &mut PgConnection, name: &str) -> bool {
        let there = sqlx::query_scalar("select exists (select from pg_database where datname = $1)");
        there.bind(name).fetch_one(session).await.unwrap()
    }

    #[tokio::test]
    async fn leftover_databases_are_dropped_unless_in_use() {
        let database = TestDatabase::empty().await;
        let mut session = database.options().connect().await.unwrap();
        let number = std::process::id();
        let [left, held] = [format!("listen_demo_{number}1"), format!("listen_dev_{number}2")];
        for name in [&left, &held] {
            execute(&mut session, format!("create database {name} template template0")).await.unwrap();
        }
        let inside = database.options().database(&held).connect().await.unwrap();

        sweep(&mut session).await.unwrap();
        assert_eq!([is_there(&mut session, &left).await, is_there(&mut session, &held).await], [false, true]);

        inside.close().await.unwrap();
        execute(&mut session, format!("drop database {held} with (force)")).await.unwrap();
        assert!(is_there(&mut session, database.name()).await, "and what is nobody's of ours is let alone");
    }

    #[tokio::test]
    async fn existing_database_is_kept_unless_fresh() {
        let database = TestDatabase::empty().await;
        let mut session = database.options().database("postgres").connect().await.unwrap();
        database.run("create table kept ()").await;
        for (fresh, kept) in [(false, true), (true, false)] {
            make(&mut session, database.name(), fresh).await.unwrap();

            let mut inside = database.options().connect().await.unwrap();
            let is_kept = sqlx::query_scalar::<_, bool>("select to_regclass('kept') is not null");
            assert_eq!(is_kept.fetch_one(&mut inside).await.unwrap(), kept, "fresh: {fresh}");
        }
    }
}
