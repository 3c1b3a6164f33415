//! What a run spends at model servers. Engines count into the process's metrics and know of no run; a run's work is
//! one task, so what is counted in that task is this run's.

use std::collections::BTreeMap;
use std::sync::Arc;

use ledger::Spent;
use parking_lot::Mutex;
use stages::{Engines, StageName};

tokio::task_local! {
    static ACCOUNT: Arc<Account>;
}

#[derive(Debug, Default)]
struct Book {
    /// Of each, only the counts are set.
    stages: BTreeMap<StageName, Spent>,
    changes: u64,
    saved: u64,
}

/// What one run has spent, and how much of it the ledger knows.
#[derive(Debug, Default)]
pub(crate) struct Account(Mutex<Book>);

/// A moment of an [`Account`].
pub(crate) struct Statement {
    /// What was spent until then, all of it: the ledger keeps the greater count.
    pub(crate) spent: Vec<Spent>,
    changes: u64,
}

/// `work`, with what it spends in `account`.
pub(crate) async fn counted<F: Future>(account: Arc<Account>, work: F) -> F::Output {
    ACCOUNT.scope(account, work).await
}

/// The run in whose task this is called has called a server for `stage`; outside of a run, nothing is charged.
pub(crate) fn note_call(stage: StageName) {
    note(stage, |spent| spent.calls += 1);
}

/// The run in whose task this is said spent `tokens` of `kind` for `stage`.
pub(crate) fn note_tokens(stage: StageName, kind: &str, tokens: u64) {
    let tokens = i64::try_from(tokens).unwrap_or(i64::MAX);
    note(stage, |spent| {
        let count = match kind {
            "prompt" => &mut spent.prompt_tokens,
            "cached" => &mut spent.cached_tokens,
            "completion" => &mut spent.completion_tokens,
            _ => return,
        };
        *count = count.saturating_add(tokens);
    });
}

fn note(stage: StageName, change: impl FnOnce(&mut Spent)) {
    // An error means that no run is at work here: a health check, a test.
    let _ = ACCOUNT.try_with(|account| {
        let mut book = account.0.lock();
        change(book.stages.entry(stage).or_default());
        book.changes += 1;
    });
}

impl Account {
    /// What was spent until now, each stage under the id of the engine that it asked.
    pub(crate) fn statement(&self, engines: &Engines) -> Statement {
        let book = self.0.lock();
        let spent = book.stages.iter().map(|(stage, counts)| Spent {
            stage: (*stage).to_owned(),
            engine: engine_of(engines, stage).to_owned(),
            ..counts.clone()
        });
        Statement { spent: spent.collect(), changes: book.changes }
    }

    /// The ledger has `statement`.
    pub(crate) fn saved(&self, statement: &Statement) {
        let mut book = self.0.lock();
        book.saved = book.saved.max(statement.changes);
    }

    /// Whether something was spent that the ledger does not know of.
    pub(crate) fn owes(&self) -> bool {
        let book = self.0.lock();
        book.changes > book.saved
    }
}

fn engine_of<'e>(engines: &'e Engines, stage: &str) -> &'e str {
    match stage {
        "detect_discard" => engines.judge.id(),
        "extract_action_items" => engines.items.id(),
        "extract_memories" => engines.memories.id(),
        "embed" => engines.embed.embed_id(),
        "describe_photos" => engines.describe.sight_id(),
        "trigger_apps" => engines.apps.id(),
        // The survey is the describing engine's, too.
        _ => engines.describe.id(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::yield_now;

    use super::*;

    fn calls(account: &Account) -> i64 {
        account.0.lock().stages.values().map(|counts| counts.calls).sum()
    }

    #[tokio::test]
    async fn spending_is_charged_to_its_own_run() {
        let (one, other) = (Arc::<Account>::default(), Arc::<Account>::default());
        let work = |calls: usize| async move {
            for _ in 0..calls {
                note_call("survey");
                note_tokens("survey", "prompt", u64::MAX);
                yield_now().await;
            }
        };
        futures::join!(counted(Arc::clone(&one), work(2)), counted(Arc::clone(&other), work(3)));
        note_call("survey");
        assert_eq!((calls(&one), calls(&other)), (2, 3));
        assert_eq!(
            one.0.lock().stages["survey"].prompt_tokens,
            i64::MAX,
            "counts stop at the end of numbers"
        );
    }

    #[tokio::test]
    async fn spending_counts_tokens_by_kind() {
        let account = Arc::<Account>::default();
        let spend = async {
            for (kind, tokens) in [("prompt", 3), ("cached", 2), ("completion", 1), ("unheard-of", 9)] {
                note_tokens("survey", kind, tokens);
            }
        };
        counted(Arc::clone(&account), spend).await;
        let counts = &account.0.lock().stages["survey"];
        assert_eq!((counts.prompt_tokens, counts.cached_tokens, counts.completion_tokens), (3, 2, 1));
    }

    #[test]
    fn spending_account_is_dirty_until_the_latest_change_is_saved() {
        let account = Account::default();
        assert!(!account.owes());
        account.0.lock().changes = 2;
        let written = Statement { spent: Vec::new(), changes: 2 };
        account.0.lock().changes = 3;
        account.saved(&written);
        assert!(account.owes(), "what came between the statement and its writing");
        account.saved(&Statement { spent: Vec::new(), changes: 3 });
        account.saved(&written);
        assert!(!account.owes(), "an older answer takes nothing back");
    }
}
