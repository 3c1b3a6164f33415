-- Notes what is indexed now.
-- $1 users, $2 conversations, $3 revisions
update conversations c set indexed_revision = k.revision
from unnest($1::text[], $2::text[], $3::bigint[]) k (user_id, conversation_id, revision)
where c.user_id = k.user_id and c.conversation_id = k.conversation_id
