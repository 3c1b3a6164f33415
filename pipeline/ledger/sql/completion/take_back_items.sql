delete from action_items
where user_id = $1
  and conversation_id = $2
  and revision < $3
  and not by_person
returning action_item_id, description, due_at
