//! What a person says and asks for under a name: appended segments, and requests with an `Idempotency-Key`.

use db::{Error, Repeat, RequestKey};
use ledger::{EndedBy, Ledger, NewConversation};
use operations::Operations;
use records::{Segment, UserId};

use crate::{
    Said,
    verbs::complete,
    world::{World, conversation, talk},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    Append,
    AppendNamed,
    CreateNamed,
    DeferNamed,
    FinalizeNamed,
    EndLiveNamed,
    ReprocessNamed,
    KeepAnswer,
    ForgetAnswer,
    ForgetNames,
}

const YESTERDAY: &str =
    "update request_keys set created_at = created_at - interval '25 hours' where user_id = $1";
/// The request that began runs no more, whether its answer was kept or not.
const A_MINUTE_LATER: &str =
    "update request_keys set running_until = running_until - interval '61 seconds' where user_id = $1";

impl Said for Words {
    type Scene = UserId;

    async fn prepare(self, world: &World, person: &str) -> UserId {
        let user = world.person(person).await;
        let ledger = world.ledger();
        match self {
            Self::Append | Self::AppendNamed => world.deferred(&user).await,
            Self::FinalizeNamed | Self::EndLiveNamed => world.deferred(&user).await,
            Self::ReprocessNamed => complete(world, &ledger, &user).await,
            Self::CreateNamed | Self::DeferNamed => {}
            Self::KeepAnswer | Self::ForgetAnswer | Self::ForgetNames => {
                Self::DeferNamed.say(&ledger, &user).await.unwrap();
                if self != Self::KeepAnswer {
                    Self::KeepAnswer.say(&ledger, &user).await.unwrap();
                }
                if self == Self::ForgetNames {
                    world.run(YESTERDAY, &user).await;
                }
            }
        }
        user
    }

    async fn say(self, ledger: &Ledger, user: &UserId) -> Result<(), Error> {
        let id = conversation(user);
        match self {
            // Under its own id a segment is stored once.
            Self::Append => ledger
                .store()
                .append_segments(user, &id, &[segment(Some("s1")), segment(Some("s2"))])
                .await
                .map(drop),
            Self::AppendNamed => ledger
                .under_key(name(user))
                .store()
                .append_segments(user, &id, &[segment(None)])
                .await
                .map(drop),
            Self::CreateNamed => {
                let new = NewConversation { client_session_id: None, ..talk(user) };
                ledger.under_key(name(user)).create_conversation(user, new).await.map(drop)
            }
            Self::DeferNamed => {
                let new = NewConversation { deferred: true, client_session_id: None, ..talk(user) };
                ledger.under_key(name(user)).create_conversation(user, new).await.map(drop)
            }
            Self::FinalizeNamed => {
                let finalized = ledger.under_key(name(user)).finalize(user, &id, None).await?;
                finalized.map(drop).map_err(|refusal| panic!("{refusal:?}"))
            }
            Self::EndLiveNamed => {
                let by = EndedBy::Owner { calendar_meeting_context: None };
                ledger.under_key(name(user)).admit_live(user, &id, by, None).await.map(drop)
            }
            Self::ReprocessNamed => ledger.under_key(name(user)).reprocess(user, &id, None).await.map(drop),
            Self::KeepAnswer => ledger.db().store_answer(&name(user), 200, "{\"id\": 1}").await,
            Self::ForgetAnswer => ledger.delete_conversation(user, &id).await.map(drop),
            Self::ForgetNames => {
                Operations::new(ledger).prune(std::time::Duration::from_secs(86_400), 100).await.1
            }
        }
    }

    /// A repeat under an idempotency key gets what the first request created, or its answer; one whose transaction never
    /// committed holds no name.
    async fn afterwards(self, world: &World, user: &UserId, position: &str) {
        if !matches!(
            self,
            Self::AppendNamed
                | Self::CreateNamed
                | Self::DeferNamed
                | Self::FinalizeNamed
                | Self::EndLiveNamed
                | Self::ReprocessNamed
        ) {
            return;
        }
        let ledger = world.ledger();
        let running = ledger.db().repeat_of(&name(user)).await.unwrap();
        assert!(matches!(running, Some(Repeat::Running(_))), "{position}: {running:?}");
        world.run(A_MINUTE_LATER, user).await;
        let made = Some(Repeat::Made(vec![conversation(user).to_string()]));
        assert_eq!(ledger.db().repeat_of(&name(user)).await.unwrap(), made, "{position}");
    }
}

/// The one name that a person gives.
pub(crate) fn name(user: &UserId) -> RequestKey {
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
