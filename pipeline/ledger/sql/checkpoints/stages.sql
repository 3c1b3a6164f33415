select stage
from stage_checkpoints
where user_id = $1 and job_id = $2
order by created_at, stage
