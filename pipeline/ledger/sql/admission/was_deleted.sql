select exists (select from deleted_conversations where user_id = $1 and conversation_id = $2)
