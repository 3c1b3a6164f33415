-- At most $2 pushes that were finished before $1.
with doomed as (
    select user_id, subscription_id, delivery_id
    from push_deliveries
    where finished_at < $1
    order by finished_at
    limit $2
    for update skip locked
)
delete from push_deliveries p
using doomed d
where p.user_id = d.user_id
  and p.subscription_id = d.subscription_id
  and p.delivery_id = d.delivery_id
