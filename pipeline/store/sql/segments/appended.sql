update conversations
set updated_at = $3,
    last_append_at = $3,
    finished_at = greatest(finished_at, $4),
    counted_bytes = coalesce(counted_bytes, 0) + $5
where user_id = $1 and conversation_id = $2
