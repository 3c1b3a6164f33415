//! Whether the database has this program's schema, said in the log: a process that waits for `listen migrate` must not
//! look like one that has nothing to do.

use std::time::Duration;

use ledger::Ledger;
use operations::Operations;
use tokio_util::sync::CancellationToken;

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

/// Says it once at the start, and whenever it changes, until `stop`. A database that does not answer is no news of its
/// schema: its readers report that.
pub(crate) async fn watch(ledger: Ledger, stop: CancellationToken) {
    let mut said = None;
    while !stop.is_cancelled() {
        if let Some(Ok(found)) = stop.run_until_cancelled(ledger.db().in_time(look(&ledger))).await {
            if is_news(said, found) {
                tell(found);
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

fn tell(found: Schema) {
    match found {
        Schema::Ready => tracing::info!("the schema is up to date now"),
        Schema::Lacks(missing) => {
            tracing::error!(
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
