//! Live conversations: opened, filled and ended by the socket that owns them.

use db::Error;
use ledger::{EndedBy, Ledger};
use records::{ConversationId, Segment, Source, UserId};
use store::{AssignedSpeaker, LiveUsage, NewLive, SegmentIds};

use crate::{CrashOperation, world::World};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Live {
    Open,
    Resume,
    Append,
    Grow,
    Assign,
    Photo,
    Close,
    Admit,
    NoteUsage,
}

impl CrashOperation for Live {
    type Setup = UserId;

    /// Each open is by another socket.
    fn is_idempotent(self) -> bool {
        !matches!(self, Self::Open | Self::Resume)
    }

    async fn prepare(self, world: &World, user_id: &str) -> UserId {
        let user = world.user(user_id).await;
        let ledger = world.ledger();
        let before: &[Self] = match self {
            Self::Open => &[],
            Self::Resume | Self::Append | Self::Photo | Self::Close => &[Self::Open],
            Self::Grow | Self::Assign | Self::Admit | Self::NoteUsage => &[Self::Open, Self::Append],
        };
        for operation in before {
            operation.execute(&ledger, &user).await.unwrap();
        }
        user
    }

    async fn execute(self, ledger: &Ledger, user: &UserId) -> Result<(), Error> {
        let id = ConversationId::new(format!("live-{user}"));
        match self {
            Self::Open | Self::Resume => ledger.store().open_live(user, &new(&id)).await.map(drop),
            Self::Append => {
                let segments = [segment(user, "Buy milk", 1.0)];
                ledger
                    .store()
                    .append_live(user, &id, 1, &segments, Some(1.0), SegmentIds::OfService)
                    .await
                    .map(drop)
            }
            Self::Grow => {
                let segments = [segment(user, "Buy milk and bread", 2.0)];
                ledger
                    .store()
                    .append_live(user, &id, 1, &segments, None, SegmentIds::OfClient)
                    .await
                    .map(drop)
            }
            Self::Assign => {
                let assigned = AssignedSpeaker { speaker_id: 0, person_id: None, segment_ids: Vec::new() };
                ledger.store().assign_live_speaker(user, &id, 1, &assigned).await.map(drop)
            }
            Self::Photo => ledger.store().add_live_photo(user, &id, 1, ("p", "/9j/")).await.map(drop),
            Self::Close => ledger.store().close_live(user, &id, 1).await.map(drop),
            Self::NoteUsage => {
                let usage = LiveUsage { engine: "openai".to_owned(), utterances: 3, ..LiveUsage::default() };
                ledger.store().note_live_usage(user, &id, 1, &usage).await
            }
            Self::Admit => ledger.admit_live(user, &id, EndedBy::Socket { epoch: 1 }, None).await.map(drop),
        }
    }
}

fn new(id: &ConversationId) -> NewLive {
    NewLive {
        fresh_id: id.clone(),
        wanted_id: None,
        device_id: None,
        platform: None,
        language: "en".to_owned(),
        source: Source::new("phone"),
        timeout: 120,
        process: "p".to_owned(),
        is_ending: Default::default(),
    }
}

fn segment(user: &UserId, text: &str, end: f64) -> Segment {
    Segment {
        id: Some(format!("segment-{user}")),
        text: text.to_owned(),
        speaker: Some("SPEAKER_00".to_owned()),
        speaker_id: None,
        is_user: false,
        person_id: None,
        start: 0.0,
        end,
    }
}
