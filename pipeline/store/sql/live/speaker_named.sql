update conversations
set last_append_at = $3, updated_at = $3
where user_id = $1 and conversation_id = $2
