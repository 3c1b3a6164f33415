-- How far a user's words are forgotten; null: to the end.
-- $1 user, $2 memories, action items, conversations
update users
set memories_forgotten_to = ($2::text[])[1], items_forgotten_to = ($2::text[])[2], conversations_forgotten_to = ($2::text[])[3]
where user_id = $1
