-- Locks jobs in key order, so that two batches cannot wait for each other.
select *
from finalization_jobs
where job_id = any ($1)
order by user_id, job_id
for no key update
