insert into action_items (
    user_id, action_item_id, description, due_at, conversation_id, revision, position, created_at, updated_at
)
select t.user_id, t.id, t.description, t.due_at, t.conversation_id, t.revision, t.position, $1, $1
from unnest(
    $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::timestamptz[], $8::integer[]
) t (user_id, conversation_id, revision, id, description, due_at, position)
on conflict do nothing
