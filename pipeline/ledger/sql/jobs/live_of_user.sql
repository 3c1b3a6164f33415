select job_id
from finalization_jobs
where user_id = $1 and status in ('queued', 'leased', 'blocked_byok')
order by job_id
