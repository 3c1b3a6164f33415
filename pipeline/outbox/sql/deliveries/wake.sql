-- At most $4 of an endpoint's parked deliveries are due at $3.
with parked as (
    select delivery_id
    from webhook_deliveries
    where user_id = $1
      and endpoint_id = $2
      and status = 'pending'
      and next_at = 'infinity'
    limit $4
    for update skip locked
)
update webhook_deliveries d
set next_at = $3
where d.user_id = $1
  and d.endpoint_id = $2
  and d.delivery_id = any (array(select delivery_id from parked))
