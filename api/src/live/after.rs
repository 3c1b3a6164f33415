//! What a session tells its client of conversations that have ended.

use std::{sync::Arc, time::Duration};

use ledger::Ledger;
use live::ServerFrame;
use records::{ConversationId, UserId};
use serde_json::Value;
use store::{ConversationFilter, DatePage};
use tokio::{sync::mpsc, time::sleep};

use super::writer::Framed;
use crate::{
    Error, shapes,
    state::{Account, Refused, Reservation},
};

/// How often a conversation's job is asked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// And how often one that waits for a later moment, or for keys.
const LOOK_SLOWLY: Duration = Duration::from_secs(5);
/// After this long the client is no longer notified: the conversation is in the list.
const LOOKS: u32 = 1_800;

/// Sends `memory_processing_started`, and `memory_created` once the conversation is completed. Ends silently when it
/// fails or is deleted, and when the socket is closed. What the client has not read yet counts in the memory of its user.
pub(super) async fn follow(
    ledger: Arc<Ledger>,
    account: Account,
    (user, conversation): (UserId, ConversationId),
    frames: mpsc::Sender<Framed>,
) {
    if let Ok(Some((memory, held))) = shown(&ledger, &account, &user, &conversation).await
        && frames.send((ServerFrame::MemoryProcessingStarted { memory: &memory }.text(), held)).await.is_err()
    {
        return;
    }
    for _ in 0..LOOKS {
        let mut wait = LOOK_EVERY;
        match ledger.poll(&user, &conversation).await {
            Ok(Some(poll)) if poll.stored.job.state.outcome().is_some() => {
                match shown(&ledger, &account, &user, &conversation).await {
                    Ok(Some((memory, held))) => {
                        describe(&ledger, &user, &conversation, &frames).await;
                        let created = ServerFrame::MemoryCreated { memory: &memory, messages: [] }.text();
                        let _ = frames.send((created, held)).await;
                        return;
                    }
                    Ok(None) => return,
                    // The database does not answer, or the user holds too much memory: it is read again.
                    Err(_) => {}
                }
            }
            Ok(Some(poll)) if poll.stored.job.state.is_terminal() => return,
            Ok(Some(poll)) if poll.waits_longer() => wait = LOOK_SLOWLY,
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
    frames: &mpsc::Sender<Framed>,
) {
    let described = ledger.db().in_time(ledger.store().photo_descriptions(user, conversation)).await;
    for (id, description) in described.unwrap_or_default() {
        let described = ServerFrame::PhotoDescribed { photo_id: &id, description: &description }.text();
        let _ = frames.send((described, None)).await;
    }
}

/// Sends `last_memory`: the user's newest completed conversation, if there is one.
pub(super) async fn last(ledger: Arc<Ledger>, user: UserId, frames: mpsc::Sender<Framed>) {
    let page = DatePage { limit: 1, ..DatePage::default() };
    let filter = ConversationFilter { page, ..ConversationFilter::default() };
    if let Ok(found) = ledger.store().conversations(&user, &filter).await
        && let Some(newest) = found.first()
    {
        let last = ServerFrame::LastMemory { memory_id: newest.conversation.id.as_str() }.text();
        let _ = frames.send((last, None)).await;
    }
}

/// The conversation as the developer interface shows it, in memory that was reserved for it; `None` when it was deleted.
async fn shown(
    ledger: &Ledger,
    account: &Account,
    user: &UserId,
    conversation: &ConversationId,
) -> Result<Option<(Value, Option<Reservation>)>, Error> {
    let mut held = None;
    let reserve = |bytes: usize| {
        held = account.hold_to_load(bytes)?;
        Ok::<_, Refused>(())
    };
    let view = ledger.store().conversation_within(user, conversation, reserve).await??;
    let memory = view.and_then(|view| serde_json::to_value(shapes::conversation(&view, true)).ok());
    Ok(memory.map(|memory| (memory, held)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

    use ledger::{NewContent, NewConversation, Settings};
    use prometheus::IntGauge;
    use records::{Segment, Source};
    use store::UserChange;
    use testbed::TestDatabase;

    use super::*;
    use crate::state::Budget;

    #[tokio::test]
    async fn conversation_that_a_live_client_has_not_read_counts_in_the_memory_of_its_user() {
        let database = TestDatabase::new().await;
        let ledger = Ledger::new(database.options(), Settings::default());
        let (user, id) = (UserId::new("ann"), ConversationId::new("c"));
        ledger.store().create_user(&user, &UserChange::default()).await.unwrap();
        let said = Segment {
            id: None,
            text: "a word ".repeat(5_000),
            speaker: Some("SPEAKER_00".to_owned()),
            speaker_id: None,
            is_user: false,
            person_id: None,
            start: 0.0,
            end: 1.0,
        };
        let long = said.text.len();
        let new = NewConversation::new(id.clone(), NewContent::Segments(vec![said]), Source::new("phone"));
        let new = NewConversation { deferred: true, ..new };
        ledger.create_conversation(&user, new, None).await.unwrap();
        let budget = Budget::new(1 << 20, IntGauge::new("held", "Held.").unwrap());
        let account = Account::new(&budget);
        account.open(&user);
        // No job is there to be followed.
        let followed = async || {
            let (frames, mut followed) = mpsc::channel(8);
            follow(Arc::new(ledger.clone()), account.clone(), (user.clone(), id.clone()), frames).await;
            followed.recv().await
        };
        let unread = followed().await.unwrap();
        assert!(unread.0.contains("memory_processing_started") && budget.held(&user) > long);
        drop(unread);
        assert_eq!(budget.held(&user), 0);
        let _everything = account.hold(account.most()).unwrap();
        assert!(followed().await.is_none(), "nothing is loaded for who holds all that one may");
    }
}
