-- At most $5 of an endpoint's due deliveries wait until $4, or until it is enabled.
with waiting as (
    select delivery_id
    from webhook_deliveries
    where user_id = $1
      and endpoint_id = $2
      and status = 'pending'
      and next_at <= $3
    limit $5
    for update skip locked
)
update webhook_deliveries d
set next_at = coalesce($4::timestamptz, 'infinity')
where d.user_id = $1
  and d.endpoint_id = $2
  and d.delivery_id = any (array(select delivery_id from waiting))
