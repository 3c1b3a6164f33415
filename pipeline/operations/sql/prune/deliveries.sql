-- At most $2 deliveries that are finished, or wait for a disabled endpoint, since before $1.
with finished as (
    select user_id, endpoint_id, delivery_id
    from webhook_deliveries
    where finished_at < $1
    order by finished_at
    limit $2
    for update skip locked
),
parked as (
    select user_id, endpoint_id, delivery_id
    from webhook_deliveries d
    where finished_at is null
      and occurred_at > '-infinity'
      and occurred_at < $1
      and next_at = 'infinity'
      and not exists (
          select
          from webhook_endpoints e
          where e.user_id = d.user_id
            and e.endpoint_id = d.endpoint_id
            and e.enabled
      )
    order by occurred_at
    limit greatest($2 - (select count(*) from finished), 0)
    for update skip locked
)
delete from webhook_deliveries w
using (select * from finished union all select * from parked) d
where w.user_id = d.user_id
  and w.endpoint_id = d.endpoint_id
  and w.delivery_id = d.delivery_id
