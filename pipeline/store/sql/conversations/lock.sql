-- Locks a conversation that is in progress, so that its words cannot be admitted meanwhile. One that is not is no longer waited
-- for: completion holds a long one for seconds.
select live_epoch, started_at
from conversations
where user_id = $1 and conversation_id = $2 and status = 'in_progress'
for update
