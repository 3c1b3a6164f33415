-- Fails a conversation that stands in processing since $4, and whose job is gone. What another transaction holds is left to the
-- next round.
with stuck as (
    select s.user_id, s.conversation_id
    from conversations s
    where s.user_id = $2
      and s.conversation_id = $3
      and s.status = 'processing'
      and s.updated_at = $4
      and not exists (
          select from finalization_jobs j
          where j.user_id = s.user_id
            and j.conversation_id = s.conversation_id
            and j.finished_at is null
      )
    for no key update of s skip locked
)
update conversations c
set status = 'failed',
    updated_at = $1,
    discarded_by_failure = c.discarded_by_failure or not c.discarded,
    discarded = true
from stuck
where c.user_id = stuck.user_id and c.conversation_id = stuck.conversation_id
returning c.finalization_revision
