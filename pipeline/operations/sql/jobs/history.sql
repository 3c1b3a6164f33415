select history, version
from finalization_jobs
where user_id = $1 and job_id = $2
