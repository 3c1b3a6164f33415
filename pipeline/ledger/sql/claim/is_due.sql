-- The order keeps the planner at the index: of many due jobs it would expect one early in the table.
select exists (
    select from (
        select from finalization_jobs
        where queue = $1 and ready_at > '-infinity' and ready_at <= statement_timestamp()
        order by ready_at
        limit 1
    ) due
) and not exists (select from queue_pauses where queue = $1)
