insert into memories (user_id, memory_id, content, category, conversation_id, revision, created_at, updated_at)
select t.user_id, t.id, t.content, t.category, t.conversation_id, t.revision, $1, $1
from unnest(
    $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[]
) t (user_id, conversation_id, revision, id, content, category)
on conflict do nothing
