//! The private PostgreSQL of `dev` and `demo`, and a database of theirs in it.

use std::time::Duration;

use anyhow::Context;
use embedded::{Cluster, Running, default_dir};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, postgres::PgConnectOptions};

/// A running server with a database of ours; the server stops by itself some time after the last client left.
pub(crate) struct Private {
    running: Running,
    name: String,
}

impl Private {
    /// Joins or starts the private server and makes the database `name`, empty when `fresh`.
    ///
    /// # Errors
    /// When there are no server programs to be had, or the server does not start.
    pub(crate) async fn start(name: &str, fresh: bool) -> anyhow::Result<Self> {
        let dir = default_dir("listen").context("choosing a directory for the private database")?;
        let cluster = Cluster { dir, durable: true, linger: Duration::from_secs(10) };
        let running = cluster.ensure().await.context("starting the private database")?;
        let mut connection =
            running.options().connect().await.context("connecting to the private database")?;
        if fresh {
            execute(&mut connection, format!("drop database if exists {name} with (force)")).await?;
        }
        let there: bool = sqlx::query_scalar("select exists (select from pg_database where datname = $1)")
            .bind(name)
            .fetch_one(&mut connection)
            .await?;
        if !there {
            execute(&mut connection, format!("create database {name}")).await?;
        }
        connection.close().await?;
        Ok(Self { running, name: name.to_owned() })
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
    ///
    /// # Errors
    /// When the server does not answer.
    pub(crate) async fn drop_database(self) -> anyhow::Result<()> {
        let mut connection = self.running.options().connect().await?;
        execute(&mut connection, format!("drop database if exists {} with (force)", self.name)).await?;
        connection.close().await?;
        Ok(())
    }
}

async fn execute(connection: &mut PgConnection, statement: String) -> anyhow::Result<()> {
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(connection).await?;
    Ok(())
}
