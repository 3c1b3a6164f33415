delete from stage_checkpoints c
using finalization_jobs j
where j.user_id = $1
  and j.conversation_id = $2
  and c.user_id = j.user_id
  and c.job_id = j.job_id
