-- Deletes an endpoint with its deliveries.
delete from webhook_endpoints
where user_id = $1
  and endpoint_id = $2
