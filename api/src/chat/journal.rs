//! Keeping what came of a turn.

use std::{sync::Arc, time::Duration};

use assistant::{Hold, Journal, Reply};
use db::TurnLease;
use futures::{FutureExt, future::BoxFuture};
use ledger::Ledger;
use serde_json::json;
use store::FinishedTurn;

use crate::{
    completion::run_to_completion,
    shapes::{message_source, message_tool},
};

/// How long a turn is its process's without being renewed.
pub(super) const LEASE: Duration = Duration::from_secs(20);

/// How long the database is waited for in a renewal, and how often it is asked: all of it ends before the lease does.
const RENEWING: (Duration, u32) = (Duration::from_secs(4), 3);

/// How often the end is tried while the database does not answer. The lease is over before the last of these: the reply reads as
/// interrupted then, and not as settled, until one is answered.
const TRIES: u32 = 20;

/// The row of one turn.
pub(super) struct TurnRow {
    pub(super) ledger: Arc<Ledger>,
    pub(super) turn: TurnLease,
}

impl TurnRow {
    fn row(reply: &Reply) -> FinishedTurn {
        FinishedTurn {
            status: reply.status.as_str(),
            trouble: reply.trouble.map(assistant::Trouble::as_str),
            engine: reply.engine.clone(),
            sources: reply.sources.iter().map(|source| json!(message_source(source))).collect(),
            tools: reply.tools.iter().map(|tool| json!(message_tool(tool))).collect(),
            // Postgres' text cannot hold U+0000.
            text: reply.text.replace('\0', ""),
        }
    }
}

impl Journal for TurnRow {
    fn renew<'a>(&'a self, reply: &'a Reply) -> BoxFuture<'a, bool> {
        let so_far = Self::row(reply);
        let (ledger, turn) = (self.ledger.clone(), self.turn.clone());
        run_to_completion(async move {
            let (wait, tries) = RENEWING;
            for attempt in 1..=tries {
                let renewal = ledger.store().renew_turn(&turn, &so_far);
                match ledger.db().within(wait, renewal).await {
                    Ok(is_ours) => return is_ours,
                    Err(error) => tracing::warn!(%error, attempt, "a turn was not renewed"),
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            true
        })
        .boxed()
    }

    fn hold(&self) -> BoxFuture<'_, Hold> {
        let (ledger, turn) = (self.ledger.clone(), self.turn.clone());
        run_to_completion(async move {
            match ledger.db().within(RENEWING.0, ledger.store().hold_turn(&turn)).await {
                Ok(true) => Hold::Held,
                Ok(false) => Hold::Lost,
                Err(error) => {
                    tracing::warn!(%error, "a tool is not called, because its turn could not be held");
                    Hold::Unknown
                }
            }
        })
        .boxed()
    }

    fn finish<'a>(&'a self, reply: &'a Reply) -> BoxFuture<'a, bool> {
        let ended = Self::row(reply);
        let (ledger, TurnLease { user, reply_id, .. }) = (self.ledger.clone(), self.turn.clone());
        run_to_completion(async move {
            for attempt in 1..=TRIES {
                match ledger.store().finish_turn(&user, &reply_id, &ended).await {
                    Ok(true) => return true,
                    // An earlier try may have kept it, and its answer was lost.
                    Ok(false) => {
                        let read = ledger.db().in_time(ledger.store().chat_message(&user, &reply_id));
                        let kept = read.await.ok().flatten();
                        return kept.is_some_and(|kept| {
                            kept.status.as_deref() == Some(ended.status) && kept.text == ended.text
                        });
                    }
                    Err(error) if error.is_passing() && attempt < TRIES => {
                        tracing::warn!(%error, "a turn was not kept yet");
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                    Err(error) => {
                        tracing::error!(%error, "a turn was not kept");
                        return false;
                    }
                }
            }
            false
        })
        .boxed()
    }
}
