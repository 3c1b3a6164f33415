//! What admission finds, and holds until its commit: people's marks, and conversations in key order.

use std::{collections::BTreeSet, sync::Arc};

use records::{Status, Timestamp};
use sqlx::{FromRow, PgConnection};

use super::finalize::{Asked, Asker};
use crate::error::{Doing, Error};

/// What admission finds of a conversation; its row is locked, so that a segment is in the revision or is refused.
#[derive(Clone, Copy)]
pub(super) enum Found {
    /// Unknown, deleted or another user's.
    Nothing,
    /// Nothing to work on.
    Empty,
    /// To be admitted.
    Ready(Ready),
    /// Processing, completed, or no more abandoned: left as it is.
    AsItIs,
}

/// What its admission goes by.
#[derive(Clone, Copy)]
pub(super) struct Ready {
    /// The database's clock.
    pub(super) now: Timestamp,
    /// The revision that is to be opened.
    pub(super) revision: i64,
    /// Every job of its user's requires the user's own keys.
    pub(super) marked: bool,
}

impl Found {
    pub(super) fn ready(&self) -> Option<Ready> {
        match self {
            Self::Ready(ready) => Some(*ready),
            Self::Nothing | Self::Empty | Self::AsItIs => None,
        }
    }

    fn of(row: &HeldRow, asker: Asker) -> Self {
        let is_waiting = row.status == Status::InProgress.as_str();
        let is_admissible = match asker {
            Asker::Owner => is_waiting || row.status == Status::Failed.as_str(),
            Asker::Reconciler => is_waiting && row.is_abandoned,
        };
        match (is_admissible, row.has_content) {
            (false, _) => Self::AsItIs,
            (true, false) => Self::Empty,
            (true, true) => Self::Ready(Ready {
                now: row.now,
                revision: row.finalization_revision + 1,
                marked: row.requires_byok,
            }),
        }
    }
}

/// A conversation that is held.
#[derive(FromRow)]
struct HeldRow {
    place: i64,
    now: Timestamp,
    requires_byok: bool,
    status: String,
    finalization_revision: i64,
    is_abandoned: bool,
    has_content: bool,
}

/// Holds people against being marked meanwhile, then conversations, each in key order; what was found of each, in the
/// order of the batch. Counting the people comes first: until it is done, no row of a conversation is looked for.
pub(super) async fn hold(connection: &mut PgConnection, batch: &[Arc<Asked>]) -> Result<Vec<Found>, Error> {
    let people: BTreeSet<&str> = batch.iter().map(|asked| asked.about().0.as_str()).collect();
    let rows: Vec<HeldRow> = sqlx::query_as(concat!(
        "with people as materialized (select user_id, requires_byok from users where user_id = any($1) \
             order by user_id for share) \
         select k.place, statement_timestamp() as now, c.status, c.finalization_revision, \
             coalesce((select p.requires_byok from people p where p.user_id = c.user_id), false) as requires_byok, \
             coalesce(c.last_append_at < statement_timestamp() - interval '24 hours', false) as is_abandoned, ",
        has_content!(),
        " as has_content from conversations c \
         join unnest($2::text[], $3::text[]) with ordinality k (user_id, conversation_id, place) \
             using (user_id, conversation_id) \
         where (select count(*) from people) > 0 \
         order by c.user_id, c.conversation_id for no key update of c"
    ))
    .bind(people.into_iter().collect::<Vec<_>>())
    .bind(batch.iter().map(|asked| asked.about().0.as_str()).collect::<Vec<_>>())
    .bind(batch.iter().map(|asked| asked.about().1.as_str()).collect::<Vec<_>>())
    .fetch_all(connection)
    .await
    .doing("holding conversations")?;
    let found = |(place, asked): (usize, &Arc<Asked>)| {
        let row = rows.iter().find(|row| usize::try_from(row.place) == Ok(place + 1));
        row.map_or(Found::Nothing, |row| Found::of(row, asked.asker()))
    };
    Ok(batch.iter().enumerate().map(found).collect())
}
