select c.user_id || ' ' || c.conversation_id
from conversations c
where c.status = 'processing'
  and not exists (
      select from finalization_jobs j
      where j.user_id = c.user_id
        and j.conversation_id = c.conversation_id
        and j.finished_at is null
  )
