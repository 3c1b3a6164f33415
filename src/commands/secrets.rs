//! `listen secrets`: how the secrets in the database are stored.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use operations::{Operations, Resealed, SealedSecrets};
use serde_json::json;

use super::{
    jobs::several,
    over_shards::{NOT_EVERYWHERE, order},
    stderr::note,
    stdout::say,
    table::{CommonArgs, field, print_json},
};
use crate::exit::{Exit, PARTLY};

/// The secrets of webhooks, push subscriptions and apps, as they are stored.
#[derive(Args, Debug)]
pub(crate) struct Secrets {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Count the secrets: all, encrypted ones, and those that the newest key of LISTEN_SECRETS_KEY encrypted.
    Show,
    /// Encrypt with the newest key every secret that is not; safe to repeat.
    Rotate,
}

pub(crate) async fn run(secrets: Secrets) -> anyhow::Result<ExitCode> {
    let rotates = matches!(secrets.verb, Verb::Rotate);
    if rotates && !secrets.common.has_secrets_key() {
        return Err(Exit::Usage(
            "LISTEN_SECRETS_KEY is not set: there is nothing to encrypt with".to_owned(),
        )
        .into());
    }
    let of_shard = async |shard: &Operations| {
        let resealed = match rotates {
            true => Some(shard.reseal_secrets().await?),
            false => None,
        };
        Ok((resealed, shard.sealed_secrets().await?))
    };
    let (answers, failures) = order(&secrets.common.chosen()?, of_shard).await;
    if answers.is_empty() {
        return failures.end(NOT_EVERYWHERE).map(|()| ExitCode::SUCCESS);
    }
    let (mut counts, mut resealed) = (SealedSecrets::default(), rotates.then(Resealed::default));
    for (_, (done, found)) in &answers {
        counts.add(*found);
        if let (Some(sum), Some(done)) = (&mut resealed, done) {
            sum.add(*done);
        }
    }
    if secrets.common.json {
        print_json(&json!({
            "stored": counts.stored, "encrypted": counts.sealed, "by_newest_key": counts.newest,
            "rotated": resealed.map(|done| done.sealed), "unreadable": resealed.map(|done| done.unreadable),
        }))?;
    } else {
        for (name, count) in
            [("stored", counts.stored), ("encrypted", counts.sealed), ("by the newest key", counts.newest)]
        {
            field(name, &count.to_string())?;
        }
        if let Some(done) = resealed {
            let rows = several(done.sealed as i64, "row was", "rows were");
            say!("{rows} encrypted with the newest key")?;
        }
    }
    match resealed {
        Some(done) if done.unreadable > 0 => {
            let words = format!(
                "{} rows hold secrets that no key of LISTEN_SECRETS_KEY decrypts: add the key that encrypted them behind the newest",
                done.unreadable
            );
            note!("{words}");
            failures.end(NOT_EVERYWHERE)?;
            Ok(ExitCode::from(PARTLY))
        }
        _ => failures.end(NOT_EVERYWHERE).map(|()| ExitCode::SUCCESS),
    }
}
