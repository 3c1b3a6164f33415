-- no-transaction
-- The oldest of what is not finished, for gauges and lists. The last condition always holds, and no other statement says it.
create index concurrently finalization_jobs_oldest on finalization_jobs (admitted_at)
    where finished_at is null and admitted_at > '-infinity';
