//! What hangs on one conversation and is read in its statement: each column aggregated, all null where there is nothing.

use records::{ActionItem, ActionItemId, ConversationId, Segment, Timestamp};
use sqlx::FromRow;

/// The values of an aggregated column, one after the other; none where there was nothing to aggregate.
pub fn column<T>(values: Option<Vec<T>>) -> std::vec::IntoIter<T> {
    values.unwrap_or_default().into_iter()
}

/// The action items of a conversation, oldest first.
#[derive(FromRow)]
pub(crate) struct ItemColumns {
    item_ids: Option<Vec<String>>,
    item_descriptions: Option<Vec<String>>,
    item_completed: Option<Vec<bool>>,
    item_created_at: Option<Vec<Timestamp>>,
    item_updated_at: Option<Vec<Timestamp>>,
    item_due_at: Option<Vec<Option<Timestamp>>>,
    item_completed_at: Option<Vec<Option<Timestamp>>>,
    item_positions: Option<Vec<i32>>,
}

impl ItemColumns {
    /// As rows, of that conversation.
    pub(crate) fn of(self, conversation: &ConversationId) -> Vec<ActionItem> {
        let (mut ids, mut descriptions) = (column(self.item_ids), column(self.item_descriptions));
        let (mut completed, mut completed_at) = (column(self.item_completed), column(self.item_completed_at));
        let (mut created_at, mut updated_at) = (column(self.item_created_at), column(self.item_updated_at));
        let (mut due_at, mut positions) = (column(self.item_due_at), column(self.item_positions));
        let next = || {
            Some(ActionItem {
                id: ActionItemId::new(ids.next()?),
                description: descriptions.next()?,
                completed: completed.next()?,
                created_at: created_at.next()?,
                updated_at: updated_at.next()?,
                due_at: due_at.next()?,
                completed_at: completed_at.next()?,
                conversation_id: Some(conversation.clone()),
                position: positions.next()?,
            })
        };
        std::iter::from_fn(next).collect()
    }
}

#[derive(FromRow)]
pub struct SegmentColumns {
    segment_ids: Option<Vec<Option<String>>>,
    contents: Option<Vec<String>>,
    speakers: Option<Vec<Option<String>>>,
    speaker_ids: Option<Vec<Option<i32>>>,
    by_user: Option<Vec<bool>>,
    person_ids: Option<Vec<Option<String>>>,
    starts: Option<Vec<f64>>,
    ends: Option<Vec<f64>>,
}

impl SegmentColumns {
    /// As rows, in their order.
    pub fn rows(self) -> Vec<Segment> {
        let (mut ids, mut contents) = (column(self.segment_ids), column(self.contents));
        let (mut speakers, mut speaker_ids) = (column(self.speakers), column(self.speaker_ids));
        let (mut by_user, mut person_ids) = (column(self.by_user), column(self.person_ids));
        let (mut starts, mut ends) = (column(self.starts), column(self.ends));
        let next = || {
            Some(Segment {
                id: ids.next()?,
                text: contents.next()?,
                speaker: speakers.next()?,
                speaker_id: speaker_ids.next()?,
                is_user: by_user.next()?,
                person_id: person_ids.next()?,
                start: starts.next()?,
                end: ends.next()?,
            })
        };
        std::iter::from_fn(next).collect()
    }
}
