-- At most $5 of an endpoint's deliveries whose sender died wait until $4, or until it is enabled. The epoch stays, so
-- the error says that the claim is lost: a late report may be that of the try before.
with dead as (
    select delivery_id
    from webhook_deliveries
    where user_id = $1
      and endpoint_id = $2
      and status = 'sending'
      and sending_until <= $3
    limit $5
    for update skip locked
)
update webhook_deliveries d
set status = 'pending',
    sending_until = null,
    next_at = coalesce($4::timestamptz, 'infinity'),
    last_error = 'abandoned'
where d.user_id = $1
  and d.endpoint_id = $2
  and d.delivery_id = any (array(select delivery_id from dead))
