-- Conversations in processing whose job is gone fail. What another transaction holds is left to the next round; a page is as
-- long as it would be without it.
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
),
stuck as (
    select s.user_id, s.conversation_id
    from conversations s
    join looked l
        on l.user_id = s.user_id
        and l.conversation_id = s.conversation_id
        and l.updated_at = s.updated_at
    where not exists (
        select from finalization_jobs j
        where j.user_id = s.user_id
          and j.conversation_id = s.conversation_id
          and j.finished_at is null
    )
    for no key update of s skip locked
),
swept as (
    update conversations c
    set status = 'failed',
        updated_at = $1,
        discarded_by_failure = c.discarded_by_failure or not c.discarded,
        discarded = true
    from stuck
    where c.user_id = stuck.user_id and c.conversation_id = stuck.conversation_id
    returning c.user_id, c.conversation_id, c.finalization_revision
)
select updated_at, user_id, conversation_id, finalization_revision as swept
from looked
left join swept using (user_id, conversation_id)
order by updated_at, user_id, conversation_id
