select user_id, job_id
from finalization_jobs
where user_id = $1
order by job_id
limit $2
for update
