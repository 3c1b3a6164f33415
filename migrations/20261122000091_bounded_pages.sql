-- Pages that read what they return. Where a page's order or its condition is not the index's, it walks past everything that
-- is not meant, and takes the longer the more of that has piled up.
set local lock_timeout = '5s';

-- Jobs that were parked longer than anybody waits: the head of the parked ones, not a walk past all that is due.
create index finalization_jobs_parked on finalization_jobs (reconcile_after_at, job_id) where status = 'blocked_byok';
