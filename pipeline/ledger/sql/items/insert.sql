insert into action_items (user_id, action_item_id, description, completed, due_at, completed_at, by_person, position,
    created_at, updated_at)
select $1, t.id, t.description, t.completed, t.due_at, case when t.completed then $2 end, true, t.ordinal - 1, $2, $2
from unnest($3::text[], $4::text[], $5::boolean[], $6::timestamptz[])
    with ordinality t (id, description, completed, due_at, ordinal)
order by t.ordinal
returning action_item_id, description, completed, created_at, updated_at, due_at, completed_at, conversation_id, position
