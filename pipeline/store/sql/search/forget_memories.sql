-- Lets the words of a user's newest memories be stored anew where the user's language becomes another one: those that searches compute
-- meanwhile. Also those that are due already: this waits for a process that indexes them by the old rules.
-- $1 user, $2 the language, $3 how many
with newest as (
    select m.memory_id
    from users u
    join memories m on m.user_id = u.user_id
    where u.user_id = $1 and u.language <> $2
    order by m.created_at desc
    limit $3
    for no key update of m
)
update memories m
set words = null
from newest n
where m.user_id = $1 and m.memory_id = n.memory_id
