//! Whether the database has this program's schema, said in the log: a process that waits for `listen migrate` must not
//! look like one that has nothing to do.

use std::time::Duration;

use db::{Found, Shard};
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

/// Refuses databases that hold another shard than the settings say, and addresses at which a shard would be made anew, empty,
/// because it is in another one of the databases.
pub(crate) async fn refuse_others(shards: &Shards) -> anyhow::Result<()> {
    let asked = shards.iter().map(|ledger| tokio::time::timeout(ASKING, ledger.db().found_shards()));
    let found: Vec<(Shard, Found)> = shards
        .iter()
        .zip(join_all(asked).await)
        .filter_map(|(ledger, found)| Some((ledger.db().shard(), found.ok()?.ok()?)))
        .collect();
    refusal(&found).map_or(Ok(()), |words| Err(Exit::Refused(words).into()))
}

/// What is wrong with what the shards' databases say that answered.
fn refusal(found: &[(Shard, Found)]) -> Option<String> {
    if let Some((shard, other)) = found.iter().find_map(|(shard, found)| Some((*shard, found.other?))) {
        return Some(other_words(shard, other));
    }
    let missing =
        found.iter().filter(|(shard, found)| !shard.is_only() && !found.all.contains(&shard.number));
    let elsewhere = |shard: &Shard| found.iter().any(|(_, found)| found.all.contains(&shard.number));
    let (shard, _) = missing.into_iter().find(|(shard, _)| elsewhere(shard))?;
    Some(format!(
        "shard {shard} is not where LISTEN_SHARD_URLS says, but in the database of another shard: name it there, or move it \
         and drop the schema that was left behind"
    ))
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

    fn found(number: u16, all: &[u16]) -> (Shard, Found) {
        (Shard { number, of: 4 }, Found { other: None, all: all.to_vec() })
    }

    #[test]
    fn schema_check_refuses_swapped_shards_and_accepts_new_ones() {
        assert_eq!(
            refusal(&[0, 1, 2, 3].map(|number| found(number, &[]))),
            None,
            "before the first migration"
        );
        let half = [found(0, &[0, 1]), found(1, &[0, 1]), found(2, &[]), found(3, &[])];
        assert_eq!(refusal(&half), None, "a migration was killed half-way");
        let swapped = [found(0, &[2, 3]), found(1, &[2, 3]), found(2, &[0, 1]), found(3, &[0, 1])];
        assert!(refusal(&swapped).is_some_and(|words| words.starts_with("shard 0 of 4 is not where")));
        let moved = [found(0, &[0, 1]), found(1, &[0, 1]), found(2, &[1, 2, 3]), found(3, &[1, 2, 3])];
        assert_eq!(refusal(&moved), None, "what was left behind is nobody's");
    }

    #[test]
    fn schema_check_refuses_another_shard_count_naming_both() {
        let other = Some(Shard { number: 0, of: 8 });
        let words =
            refusal(&[(Shard { number: 0, of: 4 }, Found { other, all: vec![0] })]).unwrap_or_default();
        assert!(words.contains("shard 0 of 4 is shard 0 of 8"), "{words}");
    }

    #[test]
    fn schema_change_is_logged_and_an_unchanged_schema_is_not() {
        let (ready, lacks) = (Schema::Ready, Schema::Lacks(3));
        assert!(is_news(None, lacks) && is_news(Some(ready), lacks) && is_news(Some(lacks), ready));
        assert!(is_news(Some(lacks), Schema::Lacks(1)), "half of the way");
        assert!(!is_news(None, ready) && !is_news(Some(ready), ready) && !is_news(Some(lacks), lacks));
    }
}
