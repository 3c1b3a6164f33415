select
    user_id,
    conversation_id,
    live_process,
    live_since,
    live_epoch,
    created_at,
    last_activity_at,
    process_after,
    (
        select count(*)
        from transcript_segments s
        where s.user_id = c.user_id and s.conversation_id = c.conversation_id
    ) as segments
from conversations c
where status = 'in_progress'
  and process_after is not null
  and ($1::text is null or user_id = $1)
order by process_after, user_id, conversation_id
limit $2
