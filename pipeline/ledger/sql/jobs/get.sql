-- A job by its id alone, without a lock.
select *
from finalization_jobs
where job_id = $1
