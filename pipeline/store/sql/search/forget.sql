-- Removes the passages of an earlier revision.
-- $1 users, $2 conversations
delete from search_entries e
using unnest($1::text[], $2::text[]) k (user_id, conversation_id)
where e.user_id = k.user_id and e.conversation_id = k.conversation_id
