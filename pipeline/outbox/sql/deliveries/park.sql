-- Parks at most $3 of the deliveries that wait for an endpoint, those that come first.
with coming as (
    select delivery_id
    from webhook_deliveries
    where user_id = $1
      and endpoint_id = $2
      and status = 'pending'
      and next_at < 'infinity'
    order by next_at
    limit $3
    for update skip locked
)
update webhook_deliveries d
set next_at = 'infinity'
where d.user_id = $1
  and d.endpoint_id = $2
  and d.delivery_id = any (array(select delivery_id from coming))
