update action_items a
set due_at = t.due_at, updated_at = $1
from unnest($2::text[], $3::text[], $4::text[], $5::timestamptz[]) t (user_id, conversation_id, id, due_at)
where a.user_id = t.user_id
  and a.action_item_id = t.id
  and a.due_at is null
  and not a.completed
  -- A date that the user cleared does not come back from the conversation that it came from.
  and (not a.by_person or a.conversation_id is distinct from t.conversation_id)
returning a.user_id, a.action_item_id, a.due_at
