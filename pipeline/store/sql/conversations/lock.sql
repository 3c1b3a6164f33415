-- Locks a conversation in progress, so that its words cannot be admitted meanwhile. Another one is not waited for: a completion
-- holds a long one for seconds.
select live_epoch, started_at, coalesce(counted_bytes, 0) > 0 as has_content
from conversations
where user_id = $1 and conversation_id = $2 and status = 'in_progress'
for update
