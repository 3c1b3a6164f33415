//! `listen users delete`: erases a user and everything that belongs to them.

use clap::Args;
use operations::{ErasureStep, Operations};
use records::UserId;
use serde_json::Value;

use crate::commands::ids::no_such_user;
use crate::commands::{
    consent::{Cause, Consent},
    outage::with_retries,
    progress,
    stdout::reply,
};

/// The user to delete, the operator and the reason.
#[derive(Args, Debug)]
pub(super) struct Delete {
    /// Id of the user.
    pub(super) id: String,
    #[command(flatten)]
    cause: Cause,
    #[command(flatten)]
    consent: Consent,
}

/// Deletes in small transactions. Interrupted, it goes on when it is run again.
pub(super) async fn run(operations: &Operations, delete: &Delete, as_json: bool) -> anyhow::Result<()> {
    let user = UserId::new(delete.id.as_str());
    let found = operations.user_rows(&user).await?.ok_or_else(|| no_such_user(&user))?;
    let question = format!("Delete the user {user} and everything that belongs to them ({})?", words(&found));
    if !delete.consent.given(&question)? {
        return reply!(as_json, { "id": user.as_str(), "deleted": false, "rows": counts(&found) },
            "{user} has {}; nothing was deleted", words(&found));
    }
    let action = delete.cause.action();
    if !operations.begin_erasure(&user, &found, &action).await? {
        return Err(no_such_user(&user).into());
    }
    let rows = found.iter().map(|(_, rows)| rows.unsigned_abs()).sum();
    let bar = progress::bar(rows, "rows deleted");
    let mut emptied = 0;
    while let ErasureStep::Removed(table, rows) =
        with_retries(async || operations.erase_some(&user, &mut emptied).await).await?
    {
        bar.set_message(table);
        bar.inc(rows);
    }
    bar.finish_and_clear();
    reply!(as_json, { "id": user.as_str(), "deleted": true, "rows": counts(&found) },
        "deleted {user}: {}", words(&found))
}

fn words(counts: &[(&str, i64)]) -> String {
    match counts {
        [] => "nothing else".to_owned(),
        counts => counts.iter().map(|(table, rows)| format!("{table} {rows}")).collect::<Vec<_>>().join(", "),
    }
}

fn counts(counts: &[(&str, i64)]) -> Value {
    counts.iter().map(|(table, rows)| ((*table).to_owned(), Value::from(*rows))).collect()
}
