-- Jobs that were parked for their user's keys past the deadline, oldest first after ($1, $2). Expired leases are the lease watch's,
-- and queued jobs are the queue itself.
select reconcile_after_at as at, user_id, job_id as id
from finalization_jobs
where status = 'blocked_byok'
  and reconcile_after_at <= statement_timestamp()
  and (reconcile_after_at, job_id) > (coalesce($1::timestamptz, '-infinity'), coalesce($2, ''))
order by reconcile_after_at, job_id
limit $3
for no key update skip locked
