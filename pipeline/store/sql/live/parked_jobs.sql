select job_id
from finalization_jobs
where user_id = $1 and status = 'blocked_byok'
order by created_at, job_id
limit $2
