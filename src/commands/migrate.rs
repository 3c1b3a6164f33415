//! `listen migrate`: the schema, forward only.

use std::process::ExitCode;

use clap::Args;
use db::Migrated;
use ledger::Ledger;
use operations::Operations;
use serde_json::{Value, json};

use super::{
    stdout::say,
    table::{CommonArgs, print_json, there},
};
use crate::{
    exit::Exit,
    schema::{other_words, refuse_others},
};

/// Bring the database's schema up to date.
#[derive(Args, Debug)]
pub(crate) struct Migrate {
    #[command(flatten)]
    common: CommonArgs,
}

pub(crate) async fn run(migrate: Migrate) -> anyhow::Result<ExitCode> {
    let shards = migrate.common.shards()?;
    let chosen = migrate.common.chosen_of(&shards)?;
    refuse_others(&shards).await?;
    let mut schemas = Vec::new();
    for shard in &chosen {
        there(shard).await?;
        let schema = bring_up_to_date(shard).await?;
        shard.db().close().await;
        if !migrate.common.json {
            match shard.db().shard() {
                only if only.is_only() => say!("{}", schema.words()),
                shard => say!("shard {shard}: {}", schema.words()),
            }?;
        }
        schemas.push(schema);
    }
    if migrate.common.json {
        match (schemas.as_slice(), chosen.as_slice()) {
            ([schema], [only]) if only.db().shard().is_only() => print_json(&schema.to_json()),
            _ => {
                let of = |(shard, schema): (&Operations, &Schema)| {
                    let (shard, of) = (shard.db().shard(), schema.to_json());
                    json!({ "shard": shard.number, "applied": of["applied"], "newer": of["newer"] })
                };
                print_json(&json!({ "shards": chosen.iter().zip(&schemas).map(of).collect::<Value>() }))
            }
        }?;
    }
    Ok(ExitCode::SUCCESS)
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
///
/// # Errors
/// When the database cannot be reached, a migration fails, or the schema is neither older nor newer than this program's.
pub(crate) async fn bring_up_to_date(ledger: &Ledger) -> anyhow::Result<Schema> {
    match ledger.db().migrate().await? {
        Migrated::Applied(applied) => Ok(Schema { applied, newer: Vec::new() }),
        Migrated::Newer(newer) => Ok(Schema { applied: Vec::new(), newer }),
        Migrated::OtherShard(other) => {
            Err(Exit::Refused(other_words(ledger.db().shard(), other)).into())
        }
        Migrated::OtherEncoding(found) => Err(Exit::Refused(format!(
            "the database stores texts as {found} and not as UTF8: nothing was applied. Make another one: \
             `create database … encoding 'UTF8' template template0`"
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
