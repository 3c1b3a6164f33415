-- How old the oldest of what waits is, in seconds, how many dead letters wait for an operator, and how many jobs wait without an owner.
-- What is from before the clock was set back is no younger than zero. The condition of a partial index is said in the words of the index:
-- without them the planner does not use it.
select
    greatest(
        extract(
            epoch from $1 - (
                select admitted_at
                from finalization_jobs
                where finished_at is null
                  and admitted_at > '-infinity'
                order by admitted_at
                limit 1
            )
        ),
        0
    )::float8 as oldest_nonterminal_age,
    greatest(
        extract(
            epoch from $1 - (
                select admitted_at
                from finalization_jobs
                where finished_at is null
                  and admitted_at > '-infinity'
                  and status <> 'blocked_byok'
                order by admitted_at
                limit 1
            )
        ),
        0
    )::float8 as oldest_unfinished_age,
    greatest(
        extract(
            epoch from $1 - (
                select admitted_at
                from finalization_jobs
                where finished_at is null
                  and admitted_at > '-infinity'
                  and ready_at <= $1
                order by admitted_at
                limit 1
            )
        ),
        0
    )::float8 as oldest_ready_age,
    greatest(
        extract(
            epoch from $1 - (
                select occurred_at
                from (
                    select user_id, endpoint_id, occurred_at
                    from webhook_deliveries
                    where finished_at is null
                      and occurred_at > '-infinity'
                      and next_at is distinct from 'infinity'
                    order by occurred_at
                    limit 10000
                ) oldest
                where not exists (
                    select from webhook_endpoints e
                    where e.user_id = oldest.user_id
                      and e.endpoint_id = oldest.endpoint_id
                      and e.failing_since is not null
                )
                  or (
                      select count(distinct user_id)
                      from (
                          select user_id
                          from webhook_endpoints
                          where enabled
                            and failing_since is not null
                          limit 100
                      ) failing
                  ) >= $2
                order by occurred_at
                limit 1
            )
        ),
        0
    )::float8 as oldest_pending_delivery_age,
    (
        select coalesce(sum(jobs), 0)::bigint
        from dead_letter_totals
        where not settled
    ) as waiting_dead_letters,
    (
        select count(*)
        from (
            select from finalization_jobs
            where status = 'leased' and reconcile_after_at < $1 - interval '1 hour'
            limit 1000
        ) overdue
    ) + (
        select count(*)
        from (
            select from finalization_jobs
            where status = 'blocked_byok'
              and reconcile_after_at < $1 - interval '1 hour'
            limit 1000
        ) overdue
    ) as orphans
