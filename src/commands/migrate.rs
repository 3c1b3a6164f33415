//! `listen migrate`: the schema, forward only.

use std::process::ExitCode;

use clap::Args;
use db::{Migrated, Shard};
use ledger::Ledger;
use operations::Operations;
use serde_json::{Value, json};

use super::{
    over_shards::{Failures, label},
    stdout::say,
    table::{CommonArgs, print_json},
};
use crate::{
    database::is_there,
    exit::Exit,
    schema::{other_words, refuse_others},
};

/// Bring the database's schema up to date.
#[derive(Args, Debug)]
pub(crate) struct Migrate {
    #[command(flatten)]
    common: CommonArgs,
}

/// Migrates all shards, or the one that was chosen.
///
/// # Errors
/// When a migration fails, a schema is not this program's, or a database does not answer: those of other shards are migrated before
/// that is said, as their processes wait for it.
pub(crate) async fn run(migrate: Migrate) -> anyhow::Result<ExitCode> {
    let shards = migrate.common.shards()?;
    let chosen = migrate.common.chosen_of(&shards)?;
    refuse_others(&shards).await?;
    let (mut schemas, mut failures) = (Vec::new(), Failures::default());
    for shard in &chosen {
        let number = shard.db().shard();
        let schema = match migrated(shard).await {
            Ok(schema) => schema,
            Err(error) => {
                failures.add(shard, error);
                continue;
            }
        };
        if !migrate.common.json {
            say!("{}{}", label(shard), schema.words())?;
        }
        schemas.push((number, schema));
    }
    if migrate.common.json && !schemas.is_empty() {
        match schemas.as_slice() {
            [(only, schema)] if only.is_only() => print_json(&schema.to_json()),
            _ => {
                let of = |(shard, schema): &(Shard, Schema)| {
                    let of = schema.to_json();
                    json!({ "shard": shard.number, "applied": of["applied"], "newer": of["newer"] })
                };
                print_json(&json!({ "shards": schemas.iter().map(of).collect::<Value>() }))
            }
        }?;
    }
    failures.end("not every shard was migrated").map(|()| ExitCode::SUCCESS)
}

/// Migrates a shard once its server is there.
async fn migrated(shard: &Operations) -> anyhow::Result<Schema> {
    is_there(shard).await?;
    let schema = bring_up_to_date(shard).await?;
    shard.db().close().await;
    Ok(schema)
}

/// A schema that this program can work with. Migrations are identified by their versions.
pub(crate) struct Schema {
    /// What was missing.
    applied: Vec<i64>,
    /// What only a newer program knows.
    newer: Vec<i64>,
}

impl Schema {
    fn to_json(&self) -> Value {
        json!({ "applied": self.applied, "newer": self.newer })
    }

    fn words(&self) -> String {
        match (self.newer.len(), self.applied.len()) {
            (0, 0) => "the schema was up to date already".to_owned(),
            (0, 1) => "1 migration applied; the schema is up to date".to_owned(),
            (0, many) => format!("{many} migrations applied; the schema is up to date"),
            (1, _) => "the schema is newer than this program by 1 migration: nothing to apply".to_owned(),
            (many, _) => {
                format!("the schema is newer than this program by {many} migrations: nothing to apply")
            }
        }
    }
}

/// Brings the schema up to date. One that is newer than this program is left as it is: a rollback to an older version
/// finds it so.
pub(crate) async fn bring_up_to_date(ledger: &Ledger) -> anyhow::Result<Schema> {
    match ledger.db().migrate().await? {
        Migrated::Applied(applied) => Ok(Schema { applied, newer: Vec::new() }),
        Migrated::Newer(newer) => Ok(Schema { applied: Vec::new(), newer }),
        Migrated::Pooled => Err(Exit::Refused(
            "a pooler in front of the server hands every transaction to another session, and a migration needs one of its own: \
             nothing was applied. Name the server itself in DATABASE_URL (--database-url, of shards LISTEN_SHARD_URLS) of \
             `listen migrate`, or a pooler that keeps sessions"
                .to_owned(),
        )
        .into()),
        Migrated::OtherShard(other) => {
            Err(Exit::Refused(other_words(ledger.db().shard(), other)).into())
        }
        Migrated::OtherEncoding(found) => Err(Exit::Refused(format!(
            "the database stores texts as {found} and not as UTF8: nothing was applied. Make another one: \
             `create database … encoding 'UTF8' template template0`"
        ))
        .into()),
        Migrated::OtherSchema { holds, makes } => Err(Exit::Refused(format!(
            "the tables are in the schema {holds} of this database, and new ones would be made in {}: nothing was applied. The \
             `search_path` of the role, of the database or of DATABASE_URL must name {holds} first; another installation needs a \
             database of its own",
            makes.as_deref().unwrap_or("none"),
        ))
        .into()),
        Migrated::Parted { missing, unknown } => Err(Exit::Refused(format!(
            "the schema is of another line than this program: it lacks {} of its migrations (the first is {}) and has {} \
             that it does not know (the last is {}); nothing was applied. Run the `listen migrate` of a version that has all \
             of them: `select version from _sqlx_migrations order by 1` says what is there",
            missing.len(),
            missing.first().unwrap_or(&0),
            unknown.len(),
            unknown.last().unwrap_or(&0),
        ))
        .into()),
    }
}
