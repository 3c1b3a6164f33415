select j.job_id || ' ' || j.status
from finalization_jobs j
where j.status in ('queued', 'leased', 'blocked_byok')
  and not exists (
      select from conversations c
      where c.user_id = j.user_id and c.conversation_id = j.conversation_id
  )
