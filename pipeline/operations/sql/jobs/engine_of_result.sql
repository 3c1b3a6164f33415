select engine
from conversations
where user_id = $1
  and conversation_id = $2
  and not exists (
      select from finalization_jobs
      where user_id = $1
        and conversation_id = $2
        and revision > $3
        and status = 'completed'
  )
