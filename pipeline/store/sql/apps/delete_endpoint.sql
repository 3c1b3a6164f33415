delete from webhook_endpoints
where user_id = $1 and app_id = $2
