-- The next subscriptions after ($2, $3), in the order of their keys, for which something waits, each with its oldest push. Each step of
-- the recursion is one look-up in push_deliveries_waiting, however many pushes a subscription has; at most $4 steps. None where no more
-- than $5 pushes are due: due.sql looks at them all. Only pending pushes have a `next_at`.
with recursive waiting as (
    (select p.user_id, p.subscription_id, p.delivery_id, p.next_at, 1 as step
     from push_deliveries p
     where p.next_at > '-infinity'
       and (p.user_id, p.subscription_id) > ($2, $3)
       and exists (
           select from push_deliveries
           where status = 'pending' and next_at <= $1
           order by next_at
           offset $5)
     order by p.user_id, p.subscription_id, p.next_at
     limit 1)
    union all
    select n.user_id, n.subscription_id, n.delivery_id, n.next_at, w.step + 1
    from waiting w
    cross join lateral (
        select p.user_id, p.subscription_id, p.delivery_id, p.next_at
        from push_deliveries p
        where p.next_at > '-infinity'
          and (p.user_id, p.subscription_id) > (w.user_id, w.subscription_id)
        order by p.user_id, p.subscription_id, p.next_at
        limit 1) n
    where w.step < $4
)
select user_id, subscription_id as receiver_id, delivery_id, next_at <= $1 as is_due
from waiting
order by user_id, subscription_id
