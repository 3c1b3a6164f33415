select exists (
    select from finalization_jobs
    where queue = $1 and ready_at > '-infinity' and ready_at <= statement_timestamp()
) and not exists (select from queue_pauses where queue = $1)
