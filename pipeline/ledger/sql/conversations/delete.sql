delete from conversations
where user_id = $1 and conversation_id = $2
returning coalesce(counted_bytes, 0)
