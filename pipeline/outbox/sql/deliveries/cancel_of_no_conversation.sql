delete from webhook_deliveries
where user_id = $1 and conversation_id is null and $3::text is null and subject_id = any($2) and status in ('pending', 'sending')
