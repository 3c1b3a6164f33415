//! What admission finds of conversations, and of their owners' marks. Nothing is held yet: who opens the revisions
//! ([`open_revisions`](super::opened::open_revisions)) holds them, and opens none that changed since.

use std::sync::Arc;

use futures::TryStreamExt;
use records::{Segment, Status, Timestamp};
use sqlx::{FromRow, PgConnection, Row};

use super::finalize::{Asked, Asker};
use crate::{
    OverBudget,
    error::{Doing, Error},
    reading::MOST_WORDS,
    segments::{SegmentRow, weight},
};

/// What admission finds of a conversation.
pub(super) enum Found {
    /// Unknown, deleted or another user's.
    Nothing,
    /// Nothing to work on.
    Empty,
    /// As many of its user's jobs wait as may.
    Full(OverBudget),
    /// To be admitted.
    Ready(Ready),
    /// Processing, completed, or no more abandoned: left as it is.
    AsItIs,
}

/// What its admission goes by, and what must still be so when it is held.
pub(super) struct Ready {
    /// The database's clock.
    pub(super) now: Timestamp,
    /// The revision that is to be opened.
    pub(super) revision: i64,
    /// Every job of its user's requires the user's own keys.
    pub(super) marked: bool,
    /// The epoch at which its user's jobs begin.
    pub(super) first_epoch: i64,
    /// Its user's jobs that wait or run, counted up to the limit, and that limit; zero is none.
    pub(super) waiting: i64,
    pub(super) most_waiting: i64,
    /// The status that the revision is opened from.
    pub(super) status: Status,
    /// When segments came last: until then, what was said is [`segments`](Self::segments).
    pub(super) last_append_at: Option<Timestamp>,
    /// What was said, if it is to be shown.
    pub(super) segments: Vec<Segment>,
}

impl Found {
    pub(super) fn ready(&self) -> Option<&Ready> {
        match self {
            Self::Ready(ready) => Some(ready),
            Self::Nothing | Self::Empty | Self::Full(_) | Self::AsItIs => None,
        }
    }

    fn of(row: FoundRow, asker: Asker) -> Self {
        let status =
            [Status::InProgress, Status::Failed].into_iter().find(|status| status.as_str() == row.status);
        let admissible = status.filter(|status| match asker {
            Asker::Owner => true,
            Asker::Reconciler => *status == Status::InProgress && row.is_abandoned,
        });
        match (admissible, row.has_content) {
            (None, _) => Self::AsItIs,
            (Some(_), false) => Self::Empty,
            (Some(status), true) => Self::Ready(Ready {
                now: row.now,
                revision: row.finalization_revision + 1,
                marked: row.requires_byok,
                first_epoch: row.first_epoch,
                waiting: row.waiting,
                most_waiting: row.most_waiting,
                status,
                last_append_at: row.last_append_at,
                segments: Vec::new(),
            }),
        }
    }
}

/// A conversation as it was found.
#[derive(FromRow)]
struct FoundRow {
    now: Timestamp,
    requires_byok: bool,
    first_epoch: i64,
    waiting: i64,
    most_waiting: i64,
    status: String,
    finalization_revision: i64,
    last_append_at: Option<Timestamp>,
    is_abandoned: bool,
    has_content: bool,
}

/// Looks at the conversations of a batch; what was found of each, in its order. Of those that may be admitted and are to be
/// shown, what was said comes with them, a row for each segment. `most_waiting` is the limit of users without their own.
///
/// # Errors
/// When the database does not answer; [`Error::TooMuch`] when more was said than one reading holds: one conversation alone
/// never is too much.
pub(super) async fn look(
    connection: &mut PgConnection,
    batch: &[Arc<Asked>],
    most_waiting: i64,
) -> Result<Vec<Found>, Error> {
    const DOING: &str = "looking at conversations";
    let query = sqlx::query(concat!(
        // Each of the two stands by itself (`offset 0`): what is asked of a conversation is asked once and not for each
        // segment, and no segment is read that is not to be shown.
        // What a user has waiting is counted once for all of the batch.
        "with owners as materialized (select user_id, requires_byok, first_epoch, most_waiting, \
                 case when most_waiting > 0 then (select count(*) from (select from finalization_jobs j \
                     where j.user_id = o.user_id and j.status in ('queued', 'leased', 'blocked_byok') \
                     limit o.most_waiting) live) else 0 end as waiting \
             from (select user_id, requires_byok, first_epoch, coalesce(limit_waiting_jobs, $4) as most_waiting \
                 from users where user_id = any($1) and deleting_since is null) o) \
         select c.*, s.* from (select k.place - 1 as place, k.is_shown, c.user_id, c.conversation_id, \
                 statement_timestamp() as now, c.status, c.finalization_revision, c.last_append_at, u.requires_byok, \
                 u.first_epoch, u.waiting, u.most_waiting, \
                 coalesce(c.last_append_at < statement_timestamp() - interval '24 hours', false) as is_abandoned, ",
        has_content!(),
        " as has_content \
             from unnest($1::text[], $2::text[], $3::boolean[]) with ordinality \
                 k (person, about, is_shown, place) \
             join conversations c on c.user_id = k.person and c.conversation_id = k.about \
             join owners u on u.user_id = c.user_id offset 0) c \
         left join lateral (select position, segment_id, content, speaker, speaker_id, is_user, person_id, \
                 start_seconds, end_seconds \
             from transcript_segments s where c.is_shown and c.status in ('in_progress', 'failed') \
                 and s.user_id = c.user_id and s.conversation_id = c.conversation_id offset 0) s on true \
         order by c.place, s.position"
    ))
    .bind(batch.iter().map(|asked| asked.about().0.as_str()).collect::<Vec<_>>())
    .bind(batch.iter().map(|asked| asked.about().1.as_str()).collect::<Vec<_>>())
    .bind(batch.iter().map(|asked| asked.is_shown()).collect::<Vec<_>>())
    .bind(most_waiting);
    let mut rows = query.fetch(connection);
    let (mut found, mut bytes): (Vec<Found>, _) = (batch.iter().map(|_| Found::Nothing).collect(), 0);
    while let Some(row) = rows.try_next().await.doing(DOING)? {
        let place: i64 = row.try_get("place").doing(DOING)?;
        let place = usize::try_from(place).ok().filter(|place| *place < batch.len());
        let Some(place) = place else { continue };
        if matches!(found[place], Found::Nothing) {
            found[place] = Found::of(FoundRow::from_row(&row).doing(DOING)?, batch[place].asker());
        }
        let is_said = row.try_get::<Option<i32>, _>("position").doing(DOING)?.is_some();
        if let (Found::Ready(ready), true) = (&mut found[place], is_said) {
            let segment = Segment::from(SegmentRow::from_row(&row).doing(DOING)?);
            bytes += weight(&segment);
            if bytes > MOST_WORDS && batch.len() > 1 {
                return Err(Error::TooMuch { doing: DOING });
            }
            ready.segments.push(segment);
        }
    }
    Ok(found)
}
