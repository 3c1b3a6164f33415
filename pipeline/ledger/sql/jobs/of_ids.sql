select *
from finalization_jobs
where job_id = any($1)
