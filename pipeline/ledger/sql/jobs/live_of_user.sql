select job_id
from finalization_jobs
where user_id = $1 and finished_at is null
order by job_id
