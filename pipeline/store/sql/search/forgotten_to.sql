-- How far a user's words are forgotten; null: to the end.
-- $1 user, $2 memories, $3 action items, $4 conversations
update users
set memories_forgotten_to = $2, items_forgotten_to = $3, conversations_forgotten_to = $4
where user_id = $1
