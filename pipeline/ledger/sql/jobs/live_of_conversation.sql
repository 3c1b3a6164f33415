select *
from finalization_jobs
where user_id = $1
  and conversation_id = $2
  and finished_at is null
