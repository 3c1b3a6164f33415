//! A database with one user, and short ways to open and fill live conversations.

use std::ops::Deref;

use ledger::{Ledger, Settings};
use records::{ConversationId, Segment, Source};
use store::{Appended, LiveConversation, NewLive, SegmentIds};
use testbed::TestDatabase;

use crate::fixture::Fixture;

pub(crate) struct World {
    fixture: Fixture,
}

impl Deref for World {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.fixture
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Settings::default()).await
    }

    pub(crate) async fn with(settings: Settings) -> Self {
        let ledger = |database: &TestDatabase| Ledger::new(database.options(), settings);
        Self { fixture: Fixture::with(ledger, &Default::default()).await }
    }

    pub(crate) async fn open(&self, fresh: &str, device: Option<&str>) -> LiveConversation {
        self.ledger.store().open_live(&self.ann, &new(fresh, device)).await.unwrap().unwrap()
    }

    /// Opens a conversation and appends a segment.
    pub(crate) async fn opened_with_segment(&self, fresh: &str, device: Option<&str>) -> LiveConversation {
        let live = self.open(fresh, device).await;
        self.append(&live, &[segment("s1", "Buy milk tomorrow.", 0.0)], Some(2.0)).await;
        live
    }

    pub(crate) async fn append(
        &self,
        live: &LiveConversation,
        segments: &[Segment],
        began: Option<f64>,
    ) -> Vec<Option<i32>> {
        let appended = self
            .ledger
            .store()
            .append_live(&self.ann, &live.id, live.epoch, segments, began, SegmentIds::OfService)
            .await;
        match appended.unwrap().unwrap() {
            Appended::Stored(numbers) => numbers,
            refused => panic!("{refused:?}"),
        }
    }

    pub(crate) async fn texts(&self, id: &ConversationId) -> Vec<(String, f64)> {
        sqlx::query_as(
            "select content, end_seconds from transcript_segments where conversation_id = $1 order by position",
        )
        .bind(id.as_str())
        .fetch_all(&self.pool)
        .await
        .unwrap()
    }
}

pub(crate) fn new(fresh: &str, device: Option<&str>) -> NewLive {
    NewLive {
        fresh_id: ConversationId::new(fresh),
        wanted_id: None,
        device_id: device.map(str::to_owned),
        platform: None,
        language: "en".to_owned(),
        source: Source::new("phone"),
        timeout: 120,
        process: "p1".to_owned(),
        is_ending: Default::default(),
    }
}

/// A segment of one second.
pub(crate) fn segment(id: &str, text: &str, start: f64) -> Segment {
    Segment {
        id: Some(id.to_owned()),
        text: text.to_owned(),
        speaker: Some("SPEAKER_00".to_owned()),
        speaker_id: None,
        is_user: false,
        person_id: None,
        start,
        end: start + 1.0,
    }
}
