//! What a session tells its client of conversations that have ended.

use std::time::Duration;

use ledger::Ledger;
use live::ServerFrame;
use records::{ConversationId, UserId};
use serde_json::Value;
use store::{ConversationFilter, DatePage};
use tokio::{sync::mpsc, time::sleep};

use crate::shapes;

/// How often a conversation's job is asked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// And how often one that waits for a later moment, or for keys.
const LOOK_SLOWLY: Duration = Duration::from_secs(5);
/// After this long the client is no longer notified: the conversation is in the list.
const LOOKS: u32 = 1_800;

/// Sends `memory_processing_started`, and `memory_created` once the conversation is completed. Ends silently when it
/// fails or is deleted, and when the socket is closed.
pub(super) async fn follow(
    ledger: Ledger,
    user: UserId,
    conversation: ConversationId,
    frames: mpsc::Sender<ServerFrame>,
) {
    if let Ok(Some(memory)) = shown(&ledger, &user, &conversation).await
        && frames.send(ServerFrame::ProcessingStarted(memory)).await.is_err()
    {
        return;
    }
    for _ in 0..LOOKS {
        let mut wait = LOOK_EVERY;
        match ledger.poll(&user, &conversation).await {
            Ok(Some(job)) if job.status == "completed" => {
                match shown(&ledger, &user, &conversation).await {
                    Ok(Some(memory)) => {
                        describe(&ledger, &user, &conversation, &frames).await;
                        let _ = frames.send(ServerFrame::Created(memory)).await;
                        return;
                    }
                    Ok(None) => return,
                    // The database does not answer: it is read again.
                    Err(_) => {}
                }
            }
            Ok(Some(job)) if job.terminal => return,
            Ok(Some(job)) if job.backing_off || job.status == "blocked_byok" => wait = LOOK_SLOWLY,
            Ok(None) => return,
            Ok(Some(_)) | Err(_) => {}
        }
        tokio::select! {
            () = sleep(wait) => {}
            () = frames.closed() => return,
        }
    }
}

/// Sends `photo_described` for each picture that was described.
async fn describe(
    ledger: &Ledger,
    user: &UserId,
    conversation: &ConversationId,
    frames: &mpsc::Sender<ServerFrame>,
) {
    let described = ledger.db().in_time(ledger.store().photo_descriptions(user, conversation)).await;
    for (id, description) in described.unwrap_or_default() {
        let _ = frames.send(ServerFrame::PhotoDescribed { id, description }).await;
    }
}

/// Sends `last_memory`: the user's newest completed conversation, if there is one.
pub(super) async fn last(ledger: Ledger, user: UserId, frames: mpsc::Sender<ServerFrame>) {
    let page = DatePage { limit: 1, ..DatePage::default() };
    let filter = ConversationFilter { page, ..ConversationFilter::default() };
    if let Ok(found) = ledger.store().conversations(&user, &filter).await
        && let Some(newest) = found.first()
    {
        let id = newest.conversation.id.as_str().to_owned();
        let _ = frames.send(ServerFrame::LastMemory(id)).await;
    }
}

/// The conversation as the developer interface shows it; `None` when it was deleted.
async fn shown(
    ledger: &Ledger,
    user: &UserId,
    conversation: &ConversationId,
) -> Result<Option<Value>, db::Error> {
    let view = ledger.store().conversation(user, conversation, true).await?;
    Ok(view.and_then(|view| serde_json::to_value(shapes::conversation(&view, true)).ok()))
}
