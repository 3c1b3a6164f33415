-- How a try of a push ended, under the claim's epoch.
update push_deliveries
set status = $5,
    next_at = $6,
    sending_until = null,
    last_status = $7,
    last_error = $8,
    finished_at = case when $5 <> 'pending' then $9::timestamptz end
where user_id = $1
  and subscription_id = $2
  and delivery_id = $3
  and epoch = $4
  and status = 'sending'
