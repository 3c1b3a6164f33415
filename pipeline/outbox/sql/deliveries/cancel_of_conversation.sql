delete from webhook_deliveries
where user_id = $1 and conversation_id = $3 and subject_id = any($2) and status in ('pending', 'sending')
