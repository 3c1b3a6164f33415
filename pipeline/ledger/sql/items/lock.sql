select action_item_id, description, completed, created_at, updated_at, due_at, completed_at, conversation_id, position
from action_items
where user_id = $1 and action_item_id = $2
for update
