-- The same of action items.
-- $1 user, $2 the language, $3 how many
with newest as (
    select a.action_item_id
    from users u
    join action_items a on a.user_id = u.user_id
    where u.user_id = $1 and u.language <> $2
    order by a.created_at desc
    limit $3
    for no key update of a
)
update action_items a
set words = null
from newest n
where a.user_id = $1 and a.action_item_id = n.action_item_id
