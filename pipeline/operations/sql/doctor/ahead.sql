select greatest(0, extract(epoch from (
    select created_at from finalization_jobs
    order by created_at desc
    limit 1) - clock_timestamp()))::float8
