-- Marks an endpoint while some of its deliveries are still parked.
update webhook_endpoints
set waking = exists (
    select from webhook_deliveries
    where user_id = $1
      and endpoint_id = $2
      and status = 'pending'
      and next_at = 'infinity'
)
where user_id = $1
  and endpoint_id = $2
