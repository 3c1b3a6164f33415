//! Whether the database has this program's schema, said in the log: a process that waits for `listen migrate` must not
//! look like one that has nothing to do.

use std::time::Duration;

use db::Shard;
use futures::future::join_all;
use ledger::{Ledger, Shards};
use operations::Operations;
use tokio_util::sync::CancellationToken;

use crate::exit::Exit;

/// How often it is looked at.
const EVERY: Duration = Duration::from_secs(5);

/// How often a schema is looked for that is waited for.
const WAIT: Duration = Duration::from_millis(500);

/// What a look found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Schema {
    Ready,
    Lacks(usize),
}

/// How long a shard may take to say which one it is. One that says nothing is served when it does: each of its sessions is asked
/// again.
const ASKING: Duration = Duration::from_secs(2);

/// Refuses databases that hold another shard than the settings say.
///
/// # Errors
/// When one does.
pub(crate) async fn refuse_others(shards: &Shards) -> anyhow::Result<()> {
    let asked = shards.iter().map(|ledger| tokio::time::timeout(ASKING, ledger.db().other_shard()));
    for (ledger, found) in shards.iter().zip(join_all(asked).await) {
        if let Ok(Ok(Some(other))) = found {
            return Err(Exit::Refused(other_words(ledger.db().shard(), other)).into());
        }
    }
    Ok(())
}

/// What is said of a database that is another shard.
pub(crate) fn other_words(asked: Shard, found: Shard) -> String {
    let of = |shard: Shard| match shard.is_only() {
        true => "the only shard".to_owned(),
        false => format!("shard {shard}"),
    };
    format!(
        "the database of {} is {}: LISTEN_SHARDS never changes in the life of an installation, and LISTEN_SHARD_URLS must \
         name each shard where it is",
        of(asked),
        of(found),
    )
}

/// Says it once at the start, and whenever it changes, until `stop`. A database that does not answer is no news of its
/// schema: its readers report that.
pub(crate) async fn watch(ledger: Ledger, stop: CancellationToken) {
    let mut said = None;
    while !stop.is_cancelled() {
        if let Some(Ok(found)) = stop.run_until_cancelled(ledger.db().in_time(look(&ledger))).await {
            if is_news(said, found) {
                tell(ledger.db().shard(), found);
            }
            said = Some(found);
        }
        stop.run_until_cancelled(tokio::time::sleep(EVERY)).await;
    }
}

/// Waits for a schema that is missing, which [`watch`] says once: what asks the database meanwhile would only fill the log. A
/// database that does not answer is not waited for.
pub(crate) async fn wait(ledger: &Ledger, stop: &CancellationToken) {
    while let Some(Ok(false)) = stop.run_until_cancelled(ledger.db().in_time(ledger.db().is_migrated())).await
    {
        stop.run_until_cancelled(tokio::time::sleep(WAIT)).await;
    }
}

async fn look(ledger: &Ledger) -> Result<Schema, db::Error> {
    if ledger.db().is_migrated().await? {
        return Ok(Schema::Ready);
    }
    Ok(Schema::Lacks(Operations::new(ledger).examine().await?.missing_migrations.len()))
}

/// A schema that was there from the beginning is no news.
fn is_news(said: Option<Schema>, found: Schema) -> bool {
    said.unwrap_or(Schema::Ready) != found
}

fn tell(shard: Shard, found: Schema) {
    match found {
        Schema::Ready => tracing::info!(%shard, "the schema is up to date now"),
        Schema::Lacks(missing) => {
            tracing::error!(
                %shard,
                missing,
                "the schema lacks migrations: run `listen migrate`; until then nothing is processed"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_news_and_a_schema_that_was_there_is_none() {
        let (ready, lacks) = (Schema::Ready, Schema::Lacks(3));
        assert!(is_news(None, lacks) && is_news(Some(ready), lacks) && is_news(Some(lacks), ready));
        assert!(is_news(Some(lacks), Schema::Lacks(1)), "half of the way");
        assert!(!is_news(None, ready) && !is_news(Some(ready), ready) && !is_news(Some(lacks), lacks));
    }
}
