-- Makes a batch of what waits for a moment at an enabled endpoint due, the nearest first. Rows that a claim holds are due anyway.
with waiting as (
    select delivery_id
    from webhook_deliveries
    where user_id = $1
      and endpoint_id = $2
      and status = 'pending'
      and next_at > $3
    order by next_at
    limit $4
    for update skip locked
)
update webhook_deliveries d
set next_at = $3
where d.user_id = $1
  and d.endpoint_id = $2
  and d.delivery_id = any(array(select delivery_id from waiting))
