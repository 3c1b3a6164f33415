update webhook_deliveries
set body = null
where user_id = $1
  and conversation_id = $2
  and body is not null
