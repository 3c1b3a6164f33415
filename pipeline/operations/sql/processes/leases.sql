-- The leases that are held, by their workers.
select lease_worker as worker, user_id, job_id, epoch, lease_claimed_at as claimed_at, lease_expires_at as expires_at
from finalization_jobs
where status = 'leased'
order by reconcile_after_at, job_id
limit 1000
