//! Where a shard is on a server with Citus: which node holds the tables of its schema. Any node answers that, and runs what
//! another one holds, only slower.

use sqlx::{Connection, PgConnection, postgres::PgConnectOptions};

use crate::{Shard, query_as, shard::is_there};

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
pub(crate) async fn at(
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
