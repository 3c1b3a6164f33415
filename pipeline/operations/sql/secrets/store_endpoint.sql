-- $1 and $2 name the row.
update webhook_endpoints
set secret = $3, previous_secret = $4
where user_id = $1
  and endpoint_id = $2
