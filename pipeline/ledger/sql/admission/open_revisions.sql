-- Opens the revisions whose jobs are admitted in the same transaction. A completed conversation keeps its status and its results
-- until the new revision replaces them. No socket owns a conversation that is processed. Of a failed one the discarded mark of its dead letter is taken back.
-- `(select $2)`: as in `lock_conversations.sql`.
update conversations c
set finalization_revision = k.revision,
    live_process = null,
    status = case when c.status = 'completed' then c.status else 'processing' end,
    discarded = c.discarded and not (c.status <> 'completed' and c.discarded_by_failure),
    discarded_by_failure = c.discarded_by_failure and c.status = 'completed',
    updated_at = case when c.status = 'completed' then c.updated_at else $1 end,
    external_data = case
        when k.meeting is null then c.external_data
        else coalesce(c.external_data, '{}') || k.meeting
    end
from unnest(
    (select $2::text[]), (select $3::text[]), (select $4::bigint[]), (select $5::jsonb[])) as k (user_id, conversation_id, revision, meeting)
where c.user_id = k.user_id
  and c.conversation_id = k.conversation_id
