//! Shards: the users of one installation spread over several schemas, on one server or on many.
//!
//! A shard's schema says which one it is. Every session of a shard asks it once, so that nothing is read or written where
//! other users are kept, whatever an address has come to mean since the process started.
//!
//! On a server with Citus one node holds the tables of a shard's schema. Any node answers which, and runs what another one holds, only
//! slower.

use std::fmt;

use sqlx::{Connection, Executor, PgConnection, postgres::PgConnectOptions};

use crate::{Db, error::Error, query, query_as, query_scalar, sql};

/// One of the shards of an installation. There are a power of two of them, for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number, below `of`.
    pub number: u16,
    /// How many there are; where there is one, it is a database without schemas of ours.
    pub of: u16,
}

impl Default for Shard {
    fn default() -> Self {
        Self { number: 0, of: 1 }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.number, self.of)
    }
}

impl Shard {
    /// Whether there are no others.
    pub fn is_only(self) -> bool {
        self.of == 1
    }

    /// The schema of its tables; `None`: wherever the role's tables are.
    pub fn schema(self) -> Option<String> {
        (!self.is_only()).then(|| format!("listen_{:04}", self.number))
    }

    /// The channel of its wake-ups: several shards may share a database.
    pub(crate) fn channel(self) -> String {
        match self.is_only() {
            true => "listen_wake".to_owned(),
            false => format!("listen_wake_{:04}", self.number),
        }
    }

    /// Sessions that see its schema and no other.
    pub(crate) fn options(self, options: PgConnectOptions) -> PgConnectOptions {
        match self.schema() {
            Some(schema) => options.options([("search_path", schema)]),
            None => options,
        }
    }

    /// What is said at the beginning of every session of it.
    ///
    /// # Errors
    /// When it is a session of another shard.
    pub(crate) async fn check(self, session: &mut PgConnection) -> Result<(), sqlx::Error> {
        if self.is_only() {
            return Ok(());
        }
        match written(session).await? {
            Some(other) if other != self => {
                Err(sqlx::Error::Configuration(format!("its schema is shard {other} and not {self}").into()))
            }
            _ => Ok(()),
        }
    }
}

impl Db {
    pub fn shard(&self) -> Shard {
        self.shard
    }

    pub async fn found_shards(&self) -> Result<Found, Error> {
        self.locate().await?;
        // Not through the pool: what is found here ends every session of the pool.
        let options = self.pool.connect_options();
        let mut session = PgConnection::connect_with(&options).await?;
        let other = other(self.shard, &mut session).await?;
        let all: Vec<String> = query_scalar!("shards/list.sql").fetch_all(&mut session).await?;
        session.close().await?;
        let numbers = all.iter().filter_map(|name| name.strip_prefix("listen_")?.parse().ok());
        Ok(Found { other, all: numbers.collect() })
    }
}

/// Which shard a database says that it is, and what else it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Another one than the handle's: `listen_0000` in a database that is to be the only one, or the other way round, or a
    /// schema of another number.
    pub other: Option<Shard>,
    /// The numbers of all shards that are in the database.
    pub all: Vec<u16>,
}

/// As [`Db::found_shards`].
pub(crate) async fn other(shard: Shard, session: &mut PgConnection) -> Result<Option<Shard>, sqlx::Error> {
    let found = match shard.is_only() {
        true => match is_there("listen_0000.listen_shard", session).await? {
            true => read(sql!("shards/read_first.sql"), session).await?,
            false => None,
        },
        false => match written(session).await? {
            Some(written) => Some(written),
            None => is_there("public.finalization_jobs", session).await?.then(Shard::default),
        },
    };
    Ok(found.filter(|found| *found != shard))
}

/// Makes the schema and says in it which shard it is, both or neither. Nothing changes where that was done before.
pub(crate) async fn make(shard: Shard, session: &mut PgConnection) -> Result<(), sqlx::Error> {
    if shard.is_only() || written(session).await? == Some(shard) {
        return Ok(());
    }
    let mut transaction = session.begin().await?;
    transaction.execute(SCHEMA).await?;
    transaction.execute(TABLE).await?;
    query!("shards/note.sql", i32::from(shard.number), i32::from(shard.of))
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await
}

/// The session's path names the schema.
const SCHEMA: &str = "do $$ begin \
     if to_regnamespace(current_setting('search_path')) is null then \
         execute format('create schema %I', current_setting('search_path')); \
     end if; end $$";

const TABLE: &str = "create table if not exists listen_shard (\
     number integer not null constraint listen_shard_pkey primary key, shards integer not null)";

/// What the session's schema says; `None` where it was never migrated.
async fn written(session: &mut PgConnection) -> Result<Option<Shard>, sqlx::Error> {
    match is_there("listen_shard", session).await? {
        true => read(sql!("shards/read.sql"), session).await,
        false => Ok(None),
    }
}

/// Whether the session knows such a table.
pub(crate) async fn is_there(table: &str, session: &mut PgConnection) -> Result<bool, sqlx::Error> {
    query_scalar!("sessions/has_table.sql", table).fetch_one(session).await
}

/// `None` where a migration was killed before it said so: the next one does.
async fn read(query: &'static str, session: &mut PgConnection) -> Result<Option<Shard>, sqlx::Error> {
    let row: Option<(i32, i32)> = sqlx::query_as(query).fetch_optional(session).await?;
    let small = |number: i32| u16::try_from(number).unwrap_or(u16::MAX);
    Ok(row.map(|(number, of)| Shard { number: small(number), of: small(of) }))
}

/// What a session says of the place of its shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The server has no Citus, or one that knows no schemas.
    Undivided,
    /// The session's own node holds the tables, or the schema was not distributed.
    Here,
    /// Another one, by the name and the port under which the nodes know each other.
    Node(String, u16),
}

/// Asks a session that is opened for a shard.
pub(crate) async fn owner(session: &mut PgConnection) -> Result<Owner, sqlx::Error> {
    if !is_there("pg_catalog.pg_dist_schema", session).await? {
        return Ok(Owner::Undivided);
    }
    let node: Option<(String, i32)> = query_as!("shards/other_node.sql").fetch_optional(session).await?;
    Ok(node.map_or(Owner::Here, |(name, port)| Owner::Node(name, u16::try_from(port).unwrap_or_default())))
}

/// How a session of the shard is opened at its owner.
///
/// # Errors
/// When it cannot be opened there, or the shard is not there.
pub(crate) async fn at_owner(
    node: (&str, u16),
    shard: Shard,
    asked: &PgConnectOptions,
) -> Result<PgConnectOptions, sqlx::Error> {
    let options = asked.clone().host(node.0).port(node.1);
    let mut session = PgConnection::connect_with(&options).await?;
    shard.check(&mut session).await?;
    let is_here = owner(&mut session).await? == Owner::Here;
    session.close().await?;
    match is_here {
        true => Ok(options),
        false => Err(sqlx::Error::Configuration("it says that another node holds the shard".into())),
    }
}
