update conversations
set last_activity_at = $3,
    process_after = ($3 at time zone 'UTC' + live_timeout * interval '1 second') at time zone 'UTC',
    last_append_at = case when $4::timestamptz is null then last_append_at else $3 end,
    updated_at = case when $4::timestamptz is null then updated_at else $3 end,
    started_at = coalesce($4, started_at),
    finished_at = case
        when started_at = coalesce($4, started_at) then greatest(finished_at, $5)
        else coalesce($5, finished_at)
    end,
    counted_bytes = coalesce(counted_bytes, 0) + $6
where user_id = $1 and conversation_id = $2
