-- no-transaction
-- What is due, the oldest first; only queued jobs have a `ready_at`. The condition is one that no other statement says: a planner whose
-- statistics do not know of a backlog takes each partial index whose condition a statement implies for an empty one, and may read
-- all of it instead of using a key (docs/notes/performance.md).
create index concurrently finalization_jobs_due on finalization_jobs (queue, ready_at, job_id)
    where ready_at > '-infinity';
