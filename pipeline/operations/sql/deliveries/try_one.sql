-- Makes one waiting delivery due.
update webhook_deliveries
set next_at = $4
where user_id = $1
  and endpoint_id = $2
  and delivery_id = $3
  and status = 'pending'
