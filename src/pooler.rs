//! A pooler in front of the database: what it must keep, and how long a process waits for that.

use std::time::Duration;

use db::Pooling;
use ledger::Ledger;
use tokio_util::sync::CancellationToken;

/// How often it is looked at.
const EVERY: Duration = Duration::from_secs(5);

/// Of one that loses prepared statements.
pub(crate) const LOSES_STATEMENTS: &str = "a pooler in front of the server hands every transaction to another session, and \
    prepared statements are lost: let it keep sessions (PgBouncer: pool_mode = session), or prepared statements (PgBouncer since \
    1.21: max_prepared_statements) with LISTEN_POLL_ONLY=on, or name the server itself in its URL";

/// Of one that keeps them, for a process that listens.
const TRANSACTIONS: &str = "a pooler in front of the server hands every transaction to another session, and the next notification \
    may end it: set LISTEN_POLL_ONLY=on, let it keep sessions (PgBouncer: pool_mode = session), or name the server itself in its URL";

/// What has to be changed before a process can work with what was found.
pub(crate) fn obstacle(found: Pooling, polls_only: bool) -> Option<&'static str> {
    match found {
        Pooling::LosesStatements => Some(LOSES_STATEMENTS),
        Pooling::Transactions if !polls_only => Some(TRANSACTIONS),
        Pooling::Transactions | Pooling::Sessions => None,
    }
}

/// Waits while there is an obstacle: another client's statement of the same name would be run, or requests fail whose session is ended. A
/// database that does not answer is not waited for.
pub(crate) async fn wait(ledger: &Ledger, polls_only: bool, stop: &CancellationToken) {
    let db = ledger.db();
    let mut is_told = false;
    while let Some(Ok(found)) = stop.run_until_cancelled(db.in_time(db.pooling())).await
        && let Some(words) = obstacle(found, polls_only)
    {
        if !std::mem::replace(&mut is_told, true) {
            tracing::error!(shard = %db.shard(), "{words}; until then no job is run");
        }
        stop.run_until_cancelled(tokio::time::sleep(EVERY)).await;
    }
}
