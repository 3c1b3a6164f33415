-- no-transaction
-- Finalizations whose newest dispatch the task queue does not have, in the order in which they are to be handed over.
create index concurrently finalization_jobs_unhanded on finalization_jobs (coalesce(hand_after, updated_at), job_id)
    where queue = 'finalization' and status = 'queued' and handed_dispatch is distinct from dispatch;
