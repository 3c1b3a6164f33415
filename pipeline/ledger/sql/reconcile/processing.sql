-- Conversations that stand in processing, oldest first after ($3, $4, $5), and whether their job is gone.
with looked as materialized (
    select user_id, conversation_id, updated_at
    from conversations
    where status = 'processing'
      and updated_at < $1::timestamptz - interval '900 seconds'
      and (updated_at, user_id, conversation_id) > (
          coalesce($3::timestamptz, '-infinity'), coalesce($4, ''), coalesce($5, '')
      )
    order by updated_at, user_id, conversation_id
    limit $2
)
select l.updated_at as at, l.user_id, l.conversation_id as id, live.job_id is null as is_stuck
from looked l
left join lateral (
    select j.job_id
    from finalization_jobs j
    where j.user_id = l.user_id
      and j.conversation_id = l.conversation_id
      and j.finished_at is null
    limit 1
) live on true
order by l.updated_at, l.user_id, l.conversation_id
