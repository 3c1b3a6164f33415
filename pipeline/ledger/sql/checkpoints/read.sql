select output
from stage_checkpoints
where user_id = $1
  and job_id = $2
  and stage = $3
  and version = $4
  and digest = $5
