-- Removes the messages of a thread, and their turns with them.
-- $1 user, $2 thread
delete from chat_messages where user_id = $1 and thread = $2
