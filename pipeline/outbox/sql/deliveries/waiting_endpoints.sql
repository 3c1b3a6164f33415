-- The next endpoints after ($2, $3), in the order of their keys, for which something waits, each with its oldest delivery. Each step of
-- the recursion is one look-up in webhook_deliveries_waiting, however many deliveries an endpoint has; at most $4 steps. None where
-- no more than $5 deliveries are due: due.sql looks at them all.
with recursive waiting as (
    (select d.user_id, d.endpoint_id, d.delivery_id, d.next_at, 1 as step
     from webhook_deliveries d
     where d.status = 'pending'
       and (d.user_id, d.endpoint_id) > ($2, $3)
       and exists (
           select from webhook_deliveries
           where status = 'pending' and delivery_id > '' and next_at <= $1
           order by next_at, delivery_id
           offset $5)
     order by d.user_id, d.endpoint_id, d.next_at
     limit 1)
    union all
    select n.user_id, n.endpoint_id, n.delivery_id, n.next_at, w.step + 1
    from waiting w
    cross join lateral (
        select d.user_id, d.endpoint_id, d.delivery_id, d.next_at
        from webhook_deliveries d
        where d.status = 'pending' and (d.user_id, d.endpoint_id) > (w.user_id, w.endpoint_id)
        order by d.user_id, d.endpoint_id, d.next_at
        limit 1) n
    where w.step < $4
)
select user_id, endpoint_id as receiver_id, delivery_id, next_at <= $1 as is_due
from waiting
order by user_id, endpoint_id
