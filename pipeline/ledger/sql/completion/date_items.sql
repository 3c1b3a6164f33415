update action_items a
set due_at = t.due_at, updated_at = $1
from unnest($2::text[], $3::text[], $4::timestamptz[]) t (user_id, id, due_at)
where a.user_id = t.user_id
  and a.action_item_id = t.id
  and a.due_at is null
  and not a.completed
returning a.user_id, a.action_item_id, a.due_at
