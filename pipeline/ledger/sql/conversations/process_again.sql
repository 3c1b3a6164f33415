update conversations
set status = 'processing',
    discarded = discarded and not discarded_by_failure,
    discarded_by_failure = false,
    updated_at = $3
where user_id = $1 and conversation_id = $2 and status = 'failed'
