-- Waits for the lock of a conversation, and says whether there is one.
select true
from conversations
where user_id = $1 and conversation_id = $2
for no key update
