-- Endpoints, the newest change first: those of a user ($1), or of all that fail, were disabled because they did, or are slow; only one id
-- where $2 names it. What its owner switched off is of no concern to others. How long tries take is asked of the newest 20 tries of each
-- endpoint that stand among its newest 1,000 deliveries; slow ones ($4 ms and more) are found among the 1,000 deliveries of all that
-- ended last.
with ended as materialized (
    select user_id, endpoint_id, avg((history -> -1 ->> 'ms')::float8) as try_ms
    from (
        select user_id, endpoint_id, history
        from webhook_deliveries
        where finished_at is not null
        order by finished_at desc
        limit 1000
    ) newest
    group by user_id, endpoint_id
),
chosen as (
    (select user_id, endpoint_id
     from webhook_endpoints
     where user_id = $1
       and ($2::text is null or endpoint_id = $2)
     order by updated_at desc
     limit $3)
    union
    (select user_id, endpoint_id
     from webhook_endpoints
     where $1::text is null
       and (not enabled or failing_since is not null)
       and disabled_reason is distinct from 'by_owner'
       and ($2 is null or endpoint_id = $2)
     order by updated_at desc
     limit $3)
    union
    (select e.user_id, e.endpoint_id
     from ended
     join webhook_endpoints e using (user_id, endpoint_id)
     where $1 is null
       and ($2 is null or e.endpoint_id = $2)
       and e.enabled
       and ended.try_ms >= $4
     order by e.updated_at desc
     limit $3)
),
listed as (
    select e.*
    from chosen
    join webhook_endpoints e using (user_id, endpoint_id)
    order by e.updated_at desc
    limit $3
)
select user_id, endpoint_id, url, enabled, disabled_reason, failing_since, consecutive_failures, open_until, last_success_at,
       updated_at,
       (select count(*)
        from (
            select
            from webhook_deliveries d
            where d.user_id = e.user_id
              and d.endpoint_id = e.endpoint_id
              and d.status in ('pending', 'sending')
            limit 1000
        ) w) as waiting,
       coalesce(
           (select avg(try_ms)
            from (
                select (history -> -1 ->> 'ms')::float8 as try_ms
                from (
                    select history, created_at
                    from webhook_deliveries d
                    where d.user_id = e.user_id
                      and d.endpoint_id = e.endpoint_id
                    order by created_at desc
                    limit 1000
                ) newest
                where history is not null
                order by created_at desc
                limit 20
            ) tried),
           (select ended.try_ms from ended where ended.user_id = e.user_id and ended.endpoint_id = e.endpoint_id)
       )::bigint as try_ms
from listed e
order by updated_at desc
