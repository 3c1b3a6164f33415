-- Lets the next try through; the count of failures stays, so that one try at a time finds out whether the endpoint lives.
update webhook_endpoints
set open_until = null
where user_id = $1
  and endpoint_id = $2
