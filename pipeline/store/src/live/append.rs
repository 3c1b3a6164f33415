//! Appending what was said, and renewing a conversation while speech goes on.

use std::collections::HashMap;

use chrono::TimeDelta;
use db::{Error, array, lock_user, query, query_as};
use records::{ConversationId, Segment, Timestamp, UserId};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{LiveLost, hold};
use crate::{
    Store,
    budgets::Charge,
    segments::{MOST_BYTES, MOST_SEGMENTS, held, insert_segments, length, lock, said, speakers},
};

/// What came of an append that was not refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Appended {
    /// Stored; the speakers' numbers, in the order of the segments.
    Stored(Vec<Option<i32>>),
    /// The same, although another socket has taken the conversation over: it was heard before, and comes from no other.
    StoredLate(Vec<Option<i32>>),
    /// Other conversations of the device hold all of it, with the same words: a client that was cut off repeated itself.
    /// Nothing was stored.
    Repeated,
    /// It would hold more than 10,000 segments, or 4 MiB: nothing was stored.
    Full,
    /// The user may store no more, or create no more conversations today: nothing was stored.
    OverBudget,
}

/// A segment that is stored already: its place, and what it counts for the limit.
#[derive(sqlx::FromRow)]
struct Known {
    segment_id: String,
    /// Not in this conversation but in another one, with these words.
    words_before: Option<String>,
    position: i32,
    start_seconds: f64,
    bytes: i32,
    speaker_id: Option<i32>,
}

impl Known {
    fn is_repeated_by(&self, segment: &Segment) -> bool {
        // Other ids may be numbers that a client counts anew in every conversation.
        let is_unique = Uuid::try_parse(&self.segment_id).is_ok();
        is_unique && id_of(segment) == self.segment_id && self.words_before.as_ref() == Some(&segment.text)
    }
}

/// Who gave segments their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentIds {
    /// The service: no other socket repeats them. They are stored although a newer socket owns the conversation by now.
    OfService,
    /// A client, which may repeat them through another socket: appends of one user wait for each other, so that the later one
    /// finds what the earlier one stored.
    OfClient,
}

impl Store {
    /// Appends segments, each with an id; one that is stored already under its id has grown, and is written anew. In the
    /// same transaction the conversation's last activity is now, and its processing is deferred to its timeout from now.
    /// What the device's other conversations hold is not stored again.
    /// `began_ago`: these are its first words, and it began so many seconds ago. A repeat changes nothing.
    pub async fn append_live(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        epoch: i64,
        segments: &[Segment],
        began_ago: Option<f64>,
        ids: SegmentIds,
    ) -> Result<Result<Appended, LiveLost>, Error> {
        self.db.in_time(self.append((user, conversation, epoch), segments, began_ago, ids)).await
    }

    async fn append(
        &self,
        (user, conversation, epoch): (&UserId, &ConversationId, i64),
        segments: &[Segment],
        began_ago: Option<f64>,
        ids: SegmentIds,
    ) -> Result<Result<Appended, LiveLost>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        if ids == SegmentIds::OfClient {
            lock_user(&mut transaction, user).await?;
        }
        let Some(locked) = lock(&mut transaction, user, conversation).await? else {
            return Ok(Err(LiveLost::Ended));
        };
        let is_late = locked.live_epoch != Some(epoch);
        if is_late && ids == SegmentIds::OfClient {
            return Ok(Err(LiveLost::Superseded));
        }
        let mut started_at = locked.started_at;
        let stored = held(&mut transaction, user, conversation).await?;
        if let Some(ago) = began_ago.filter(|_| stored.segments == 0) {
            started_at = now - span(ago);
        }
        // The segments of these ids that this conversation holds, and those that others of the same device hold.
        let known: Vec<Known> =
            query_as!("live/known_segments.sql", user, conversation, array(segments, id_of))
                .fetch_all(&mut *transaction)
                .await?;
        let (repeatable, known): (Vec<Known>, Vec<Known>) =
            known.into_iter().partition(|known| known.words_before.is_some());
        let is_ours = |segment: &&Segment| !repeatable.iter().any(|known| known.is_repeated_by(segment));
        let mut ours: Vec<Segment> = segments.iter().filter(is_ours).cloned().collect();
        if ours.is_empty() {
            return Ok(Ok(Appended::Repeated));
        }
        let known: HashMap<String, Known> =
            known.into_iter().map(|known| (known.segment_id.clone(), known)).collect();
        for segment in &mut ours {
            // A client that was cut off repeats it by the clock of its next socket: it is no longer for that.
            if let Some(known) = known.get(id_of(segment)) {
                segment.end -= (segment.start - known.start_seconds).max(0.0);
            }
        }
        let (grown, mut new): (Vec<Segment>, Vec<Segment>) =
            ours.iter().cloned().partition(|segment| known.contains_key(id_of(segment)));
        let before: i64 = known.values().map(|known| i64::from(known.bytes)).sum();
        let after: i64 = ours.iter().map(|segment| said(segment) as i64).sum();
        if stored.segments + new.len() as i64 > MOST_SEGMENTS || stored.bytes - before + after > MOST_BYTES {
            return Ok(Ok(Appended::Full));
        }
        speakers(&mut transaction, user, conversation).await?.number(&mut new);
        insert_segments(&mut transaction, user, conversation, stored.next_position, &new).await?;
        if !grown.is_empty() {
            let position = |segment: &Segment| known.get(id_of(segment)).map(|known| known.position);
            query!(
                "live/grow_segments.sql",
                user,
                conversation,
                array(&grown, position),
                array(&grown, |segment| segment.text.as_str()),
                array(&grown, |segment| segment.end)
            )
            .execute(&mut *transaction)
            .await?;
        }
        let finished_at = started_at + length(&ours);
        let bytes = after - before;
        renew(&mut transaction, user, conversation, Some((started_at, finished_at)), bytes, now).await?;
        let conversations = i64::from(!locked.has_content);
        match self.charge(&mut transaction, user, Charge { conversations, bytes, job: false }, now).await {
            Err(Error::OverBudget(_)) => return Ok(Ok(Appended::OverBudget)),
            charged => charged?,
        }
        transaction.commit().await?;
        let numbers: HashMap<&str, Option<i32>> =
            new.iter().map(|segment| (id_of(segment), segment.speaker_id)).collect();
        let number = |segment: &Segment| {
            let id = id_of(segment);
            numbers.get(id).copied().or_else(|| known.get(id).map(|known| known.speaker_id)).flatten()
        };
        let numbers = segments.iter().map(number).collect();
        Ok(Ok(if is_late { Appended::StoredLate(numbers) } else { Appended::Stored(numbers) }))
    }

    /// Speech goes on, and nothing of it is final yet: the conversation's last activity is now.
    pub async fn renew_live(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        epoch: i64,
    ) -> Result<Result<(), LiveLost>, Error> {
        self.db
            .in_time(async {
                let (mut transaction, now) = self.db.begin().await?;
                if let Err(lost) = hold(&mut transaction, user, conversation, epoch).await? {
                    return Ok(Err(lost));
                }
                renew(&mut transaction, user, conversation, None, 0, now).await?;
                transaction.commit().await?;
                Ok(Ok(()))
            })
            .await
    }
}

fn span(seconds: f64) -> TimeDelta {
    TimeDelta::microseconds((seconds * 1e6).round() as i64)
}

fn id_of(segment: &Segment) -> &str {
    segment.id.as_deref().unwrap_or_default()
}

/// `words`: from when until when the conversation's words last; `last_append_at` tells an admission that there are more.
/// `bytes` more are stored.
async fn renew(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
    words: Option<(Timestamp, Timestamp)>,
    bytes: i64,
    now: Timestamp,
) -> Result<(), Error> {
    let (started_at, finished_at) = words.unzip();
    query!("live/appended.sql", user, conversation, now, started_at, finished_at, bytes)
        .execute(connection)
        .await?;
    Ok(())
}
