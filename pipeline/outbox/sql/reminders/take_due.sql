-- Takes at most $2 reminders that are due at $1, and whether their items still are.
with due as (
    select user_id, action_item_id
    from reminders
    where fire_at <= $1
    order by fire_at
    limit $2
    for update skip locked
)
update reminders r
set fire_at = null
from due d
join action_items a using (user_id, action_item_id)
where r.user_id = d.user_id
  and r.action_item_id = d.action_item_id
returning
    r.user_id,
    r.action_item_id,
    r.revision,
    r.due_at,
    (not a.completed and a.due_at is not distinct from r.due_at) as is_open
