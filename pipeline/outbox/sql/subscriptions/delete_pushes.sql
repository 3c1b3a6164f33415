-- Deletes $3 of the pushes of a subscription, if there are as many that no claim holds.
with doomed as (
    select delivery_id
    from push_deliveries
    where user_id = $1
      and subscription_id = $2
    order by delivery_id
    limit $3
    for update skip locked
)
delete from push_deliveries
where user_id = $1
  and subscription_id = $2
  and delivery_id = any (array(select delivery_id from doomed where (select count(*) from doomed) = $3))
