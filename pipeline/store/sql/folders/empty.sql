update conversations
set folder_id = null, updated_at = $3
where user_id = $1 and folder_id = $2
