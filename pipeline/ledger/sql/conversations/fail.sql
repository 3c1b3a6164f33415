update conversations
set status = 'failed',
    discarded_by_failure = discarded_by_failure or not discarded,
    discarded = true,
    updated_at = $3
where user_id = $1 and conversation_id = $2 and status = 'processing'
