update conversations
set live_process = null
where user_id = $1 and conversation_id = $2
