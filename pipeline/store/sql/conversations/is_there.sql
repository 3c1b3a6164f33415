select exists (select from conversations where user_id = $1 and conversation_id = $2)
