-- Keeps a rendered body, under the claim's epoch and within its time.
update webhook_deliveries
set body = $5
where user_id = $1
  and endpoint_id = $2
  and delivery_id = $3
  and epoch = $4
  and sending_until > statement_timestamp()
