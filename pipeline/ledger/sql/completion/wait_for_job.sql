-- Waits for the lock of a job.
select from finalization_jobs where user_id = $1 and job_id = $2 for no key update
