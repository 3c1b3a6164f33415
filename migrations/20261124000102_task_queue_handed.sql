-- no-transaction
-- Finalizations that the task queue should have, by the time at which the reconciler asks for them.
create index concurrently finalization_jobs_handed on finalization_jobs (reconcile_after_at, job_id)
    where queue = 'finalization' and status = 'queued' and handed_dispatch = dispatch;
