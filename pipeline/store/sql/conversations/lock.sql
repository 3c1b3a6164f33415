-- Locks a conversation, so that its words cannot be admitted meanwhile.
select status, live_epoch, started_at
from conversations
where user_id = $1 and conversation_id = $2
for update
