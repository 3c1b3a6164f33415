//! Opening the revisions of conversations that are held, with their jobs.

use records::Timestamp;
use sqlx::PgConnection;

use super::{finalize::Asked, held::Ready};
use crate::{
    conversations::{NamedRow, named_columns},
    effects::Stumble,
    error::Doing,
    row::{Written, jobs_written},
};

/// Takes the next revisions and writes their jobs, in one statement; the discarded mark of a dead letter is taken back.
/// Answers the conversations as they stand then, in their order.
pub(super) async fn open_revisions(
    connection: &mut PgConnection,
    ready: &[(&Asked, Ready)],
    jobs: Written,
    now: Timestamp,
) -> Result<Vec<NamedRow>, Stumble> {
    let opened: Vec<NamedRow> = sqlx::query_as(concat!(
        "with ",
        jobs_written!(),
        ", opened as (update conversations c set status = 'processing', \
             finalization_revision = finalization_revision + 1, updated_at = $2, \
             discarded = discarded and not discarded_by_failure, discarded_by_failure = false, \
             external_data = case when k.context is null then external_data \
                 else coalesce(external_data, '{}') || jsonb_build_object('calendar_meeting_context', k.context) end \
         from unnest($3::text[], $4::text[], $5::jsonb[]) with ordinality k (person, about, context, place) \
         where c.user_id = k.person and c.conversation_id = k.about \
         returning k.place, ",
        named_columns!(),
        ") select * from opened order by place"
    ))
    .bind(jobs)
    .bind(now)
    .bind(ready.iter().map(|(asked, _)| asked.about().0.as_str()).collect::<Vec<_>>())
    .bind(ready.iter().map(|(asked, _)| asked.about().1.as_str()).collect::<Vec<_>>())
    .bind(ready.iter().map(|(asked, _)| asked.context()).collect::<Vec<_>>())
    .fetch_all(connection)
    .await
    .doing("opening revisions")?;
    // They are held, so each was there.
    if opened.len() < ready.len() {
        return Err(Stumble::Lost);
    }
    Ok(opened)
}
