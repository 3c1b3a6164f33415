-- no-transaction
-- What is due, the oldest first. The last condition always holds: a planner whose statistics do not know of a backlog takes each
-- partial index whose condition a statement implies for an empty one and may read all of it, so an index of what waits is for the
-- statements alone that say its condition (notes/performance.md).
create index concurrently finalization_jobs_due on finalization_jobs (queue, ready_at, job_id)
    where status = 'queued' and ready_at > '-infinity';
