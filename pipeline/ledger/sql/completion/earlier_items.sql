-- What earlier revisions extracted and no user has changed since.
select action_item_id, description, due_at
from action_items
where user_id = $1
  and conversation_id = $2
  and revision < $3
  and not by_person
order by position, action_item_id
for update
