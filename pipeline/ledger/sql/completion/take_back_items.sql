delete from action_items
where user_id = $1 and action_item_id = any ($2)
