-- Items $2 are not reminded of any more.
update reminders
set fire_at = null
where user_id = $1
  and action_item_id = any ($2)
