-- Deletes $3 of the deliveries of an endpoint, if there are as many that no claim holds.
with doomed as (
    select delivery_id
    from webhook_deliveries
    where user_id = $1
      and endpoint_id = $2
    order by delivery_id
    limit $3
    for update skip locked
)
delete from webhook_deliveries
where user_id = $1
  and endpoint_id = $2
  and delivery_id = any (array(select delivery_id from doomed where (select count(*) from doomed) = $3))
