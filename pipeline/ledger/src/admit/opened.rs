//! Opening the revisions of conversations, with their jobs and bells: one statement, which writes all or nothing.

use std::{collections::BTreeSet, sync::Arc};

use sqlx::PgConnection;

use super::{finalize::Asked, found::Ready};
use crate::{
    conversations::{NamedRow, named_columns},
    effects::{Rings, bells_rung},
    error::{Doing, Error},
    row::{Written, jobs_written},
};

/// That each conversation of the batch is as it was found. Else nothing is written of any.
macro_rules! all_are_held {
    () => {
        "(select count(*) from held) = cardinality($4)"
    };
}

/// Holds people, then conversations, each in key order, before they are looked at: whoever waited for them loses no more.
pub(super) async fn hold(connection: &mut PgConnection, batch: &[Arc<Asked>]) -> Result<(), Error> {
    let people: BTreeSet<&str> = batch.iter().map(|asked| asked.about().0.as_str()).collect();
    sqlx::query(
        "with people as materialized (select user_id from users where user_id = any($1) \
             order by user_id for share) \
         select from unnest($2::text[], $3::text[]) k (person, about) \
         join conversations c on c.user_id = k.person and c.conversation_id = k.about \
         where (select count(*) from people) > 0 \
         order by c.user_id, c.conversation_id for no key update of c",
    )
    .bind(people.into_iter().collect::<Vec<_>>())
    .bind(batch.iter().map(|asked| asked.about().0.as_str()).collect::<Vec<_>>())
    .bind(batch.iter().map(|asked| asked.about().1.as_str()).collect::<Vec<_>>())
    .execute(connection)
    .await
    .doing("holding conversations")
    .map(drop)
}

/// The statement; what is said in it writes the bells, so that one without them needs no table of bells.
macro_rules! opening {
    ($($rung:expr)?) => {
        concat!(
            "with people as materialized (select user_id, requires_byok from users \
                 where deleting_since is null and user_id = any($3) \
                 order by user_id for share), \
             held as materialized (select k.person, k.about, k.revision, k.context, k.place \
                 from unnest($4::text[], $5::text[], $6::bigint[], $7::text[], $8::timestamptz[], $9::boolean[], \
                     $10::jsonb[]) with ordinality \
                     k (person, about, revision, status, last_append_at, marked, context, place) \
                 join conversations c on c.user_id = k.person and c.conversation_id = k.about \
                     and c.finalization_revision = k.revision - 1 and c.status = k.status \
                     and c.last_append_at is not distinct from k.last_append_at \
                 join people p on p.user_id = c.user_id and p.requires_byok = k.marked \
                 where (select count(*) from people) > 0 \
                 order by c.user_id, c.conversation_id for no key update of c), ",
            jobs_written!("where ", all_are_held!()),
            $(", rung as (", $rung, ")",)?
            ", opened as (update conversations c set status = 'processing', \
                 finalization_revision = h.revision, updated_at = $2, \
                 discarded = discarded and not discarded_by_failure, discarded_by_failure = false, \
                 external_data = case when h.context is null then external_data \
                     else coalesce(external_data, '{}') \
                         || jsonb_build_object('calendar_meeting_context', h.context) end \
             from held h where c.user_id = h.person and c.conversation_id = h.about and ",
            all_are_held!(),
            " returning ",
            named_columns!(),
            ", h.place) select * from opened order by place"
        )
    };
}
const SILENTLY: &str = opening!();
const RINGING: &str = opening!(bells_rung!("$11", "where ", all_are_held!()));

/// Takes the next revisions and writes their jobs; the discarded mark of a dead letter is taken back. Answers the
/// conversations as they stand then, in their order; none when one of them is not as it was found.
///
/// People are held against being marked meanwhile, then conversations, each in key order: counting the people comes first,
/// and until it is done, no row of a conversation is looked for. What is held is as it was found in everything that its job
/// was decided by, and nothing was said since: what was read of it before is of the same moment.
pub(super) async fn open_revisions(
    connection: &mut PgConnection,
    ready: &[(&Asked, &Ready)],
    jobs: Written,
    rings: Rings,
) -> Result<Vec<NamedRow>, sqlx::Error> {
    let people: BTreeSet<&str> = ready.iter().map(|(asked, _)| asked.about().0.as_str()).collect();
    let is_silent = rings.0.is_empty();
    let opening = sqlx::query_as(if is_silent { SILENTLY } else { RINGING })
        .bind(jobs)
        .bind(ready.first().map(|(_, found)| found.now))
        .bind(people.into_iter().collect::<Vec<_>>())
        .bind(ready.iter().map(|(asked, _)| asked.about().0.as_str()).collect::<Vec<_>>())
        .bind(ready.iter().map(|(asked, _)| asked.about().1.as_str()).collect::<Vec<_>>())
        .bind(ready.iter().map(|(_, found)| found.revision).collect::<Vec<_>>())
        .bind(ready.iter().map(|(_, found)| found.status.as_str()).collect::<Vec<_>>())
        .bind(ready.iter().map(|(_, found)| found.last_append_at).collect::<Vec<_>>())
        .bind(ready.iter().map(|(_, found)| found.marked).collect::<Vec<_>>())
        .bind(ready.iter().map(|(asked, _)| asked.context()).collect::<Vec<_>>());
    let opening = if is_silent { opening } else { opening.bind(rings) };
    opening.fetch_all(connection).await
}
