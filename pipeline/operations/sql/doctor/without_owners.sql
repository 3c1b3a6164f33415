select (
    select count(*)
    from (
        select from finalization_jobs
        where status = 'leased'
          and reconcile_after_at < statement_timestamp() - interval '1 hour'
        limit 1000
    ) leases
) + (
    select count(*)
    from (
        select from finalization_jobs
        where status = 'blocked_byok'
          and reconcile_after_at < statement_timestamp() - interval '1 hour'
        limit 1000
    ) parked
)
