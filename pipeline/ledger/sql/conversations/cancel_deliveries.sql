delete from webhook_deliveries
where user_id = $1
  and conversation_id = $2
  and status in ('pending', 'sending')
