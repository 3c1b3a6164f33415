-- Cancels at most $5 of the deliveries that wait for an endpoint: those that are due by $3, or all.
with unwanted as (
    select delivery_id
    from webhook_deliveries
    where user_id = $1
      and endpoint_id = $2
      and status = 'pending'
      and next_at <= coalesce($3::timestamptz, 'infinity')
    limit $5
    for update skip locked
)
update webhook_deliveries d
set status = 'cancelled',
    next_at = null,
    body = null,
    finished_at = $4
where d.user_id = $1
  and d.endpoint_id = $2
  and d.delivery_id = any (array(select delivery_id from unwanted))
