select job_id
from finalization_jobs
where requires_keys and status = 'queued'
