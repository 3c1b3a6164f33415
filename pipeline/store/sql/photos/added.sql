update conversations
set last_activity_at = $3,
    last_append_at = $3,
    updated_at = $3,
    process_after = ($3 at time zone 'UTC' + live_timeout * interval '1 second') at time zone 'UTC',
    counted_bytes = coalesce(counted_bytes, 0) + $4
where user_id = $1 and conversation_id = $2
