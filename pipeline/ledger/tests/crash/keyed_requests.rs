//! Appended segments, and requests with an `Idempotency-Key`.

use db::{Error, Repeat, RequestKey};
use ledger::{EndedBy, Ledger, NewConversation};
use operations::Operations;
use records::{Segment, UserId};

use crate::{
    CrashOperation,
    job_operations::complete,
    world::{World, conversation, new_conversation},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyedRequest {
    Append,
    AppendWithKey,
    CreateWithKey,
    DeferWithKey,
    FinalizeWithKey,
    EndLiveWithKey,
    ReprocessWithKey,
    StoreAnswer,
    DeleteAnswered,
    ForgetOldKeys,
}

const YESTERDAY: &str =
    "update request_keys set created_at = created_at - interval '25 hours' where user_id = $1";
/// Ends the time in which the first request counts as running, whether its answer was stored or not.
const A_MINUTE_LATER: &str =
    "update request_keys set running_until = running_until - interval '61 seconds' where user_id = $1";

impl CrashOperation for KeyedRequest {
    type Setup = UserId;

    async fn prepare(self, world: &World, user_id: &str) -> UserId {
        let user = world.user(user_id).await;
        let ledger = world.ledger();
        match self {
            Self::Append | Self::AppendWithKey => world.deferred(&user).await,
            Self::FinalizeWithKey | Self::EndLiveWithKey => world.deferred(&user).await,
            Self::ReprocessWithKey => complete(world, &ledger, &user).await,
            Self::CreateWithKey | Self::DeferWithKey => {}
            Self::StoreAnswer | Self::DeleteAnswered | Self::ForgetOldKeys => {
                Self::DeferWithKey.execute(&ledger, &user).await.unwrap();
                if self != Self::StoreAnswer {
                    Self::StoreAnswer.execute(&ledger, &user).await.unwrap();
                }
                if self == Self::ForgetOldKeys {
                    world.run(YESTERDAY, &user).await;
                }
            }
        }
        user
    }

    async fn execute(self, ledger: &Ledger, user: &UserId) -> Result<(), Error> {
        let id = conversation(user);
        match self {
            // A segment with an id is stored once.
            Self::Append => ledger
                .store()
                .append_segments(user, &id, &[segment(Some("s1")), segment(Some("s2"))])
                .await
                .map(drop),
            Self::AppendWithKey => ledger
                .under_key(request_key(user))
                .store()
                .append_segments(user, &id, &[segment(None)])
                .await
                .map(drop),
            Self::CreateWithKey => {
                let new = NewConversation { client_session_id: None, ..new_conversation(user) };
                ledger.under_key(request_key(user)).create_conversation(user, new, None).await.map(drop)
            }
            Self::DeferWithKey => {
                let new =
                    NewConversation { deferred: true, client_session_id: None, ..new_conversation(user) };
                ledger.under_key(request_key(user)).create_conversation(user, new, None).await.map(drop)
            }
            Self::FinalizeWithKey => {
                let finalized = ledger.under_key(request_key(user)).finalize(user, &id, None, None).await?;
                finalized.map(drop).map_err(|refusal| panic!("{refusal:?}"))
            }
            Self::EndLiveWithKey => {
                let by = EndedBy::Owner { calendar_meeting_context: None };
                ledger.under_key(request_key(user)).admit_live(user, &id, by, None).await.map(drop)
            }
            Self::ReprocessWithKey => {
                ledger.under_key(request_key(user)).reprocess(user, &id, None).await.map(drop)
            }
            Self::StoreAnswer => {
                ledger.db().store_answer(&request_key(user), Some((200, "{\"id\": 1}"))).await
            }
            Self::DeleteAnswered => ledger.delete_conversation(user, &id).await.map(drop),
            Self::ForgetOldKeys => {
                Operations::new(ledger).prune(std::time::Duration::from_secs(86_400), 100).await.1
            }
        }
    }

    /// A repeat under an idempotency key gets what the first request created, or its answer; one whose transaction
    /// was not committed leaves its key free.
    async fn check_after(self, world: &World, user: &UserId, position: &str) {
        if !matches!(
            self,
            Self::AppendWithKey
                | Self::CreateWithKey
                | Self::DeferWithKey
                | Self::FinalizeWithKey
                | Self::EndLiveWithKey
                | Self::ReprocessWithKey
        ) {
            return;
        }
        let ledger = world.ledger();
        let running = ledger.db().repeat_of(&request_key(user)).await.unwrap();
        assert!(matches!(running, Some(Repeat::Running(_))), "{position}: {running:?}");
        world.run(A_MINUTE_LATER, user).await;
        let made = Some(Repeat::Made(vec![conversation(user).to_string()]));
        assert_eq!(ledger.db().repeat_of(&request_key(user)).await.unwrap(), made, "{position}");
    }
}

/// The user's one idempotency key.
pub(crate) fn request_key(user: &UserId) -> RequestKey {
    RequestKey {
        user: user.clone(),
        route: "/some".to_owned(),
        key: format!("name-{user}"),
        fingerprint: [1; 32],
    }
}

fn segment(id: Option<&str>) -> Segment {
    Segment {
        id: id.map(str::to_owned),
        text: "And on Tuesday.".to_owned(),
        speaker: Some("SPEAKER_00".to_owned()),
        speaker_id: None,
        is_user: true,
        person_id: None,
        start: 1.0,
        end: 2.0,
    }
}
