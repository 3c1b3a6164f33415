-- The same of action items.
-- $1 user, $2 behind this one, $3 how many
with next as (
    select action_item_id
    from action_items
    where user_id = $1 and action_item_id > $2
    order by action_item_id
    limit $3
    for no key update
), forgotten as (
    update action_items a
    set words = null
    from next n
    where a.user_id = $1 and a.action_item_id = n.action_item_id
)
select max(action_item_id)
from next
