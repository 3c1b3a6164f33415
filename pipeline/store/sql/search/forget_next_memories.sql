-- Lets the words of the next memories of a user be stored anew, and says which of them is the last; null: none is left. Also of those
-- that had none when this began: it may have waited for a process that stored words by the old rules.
-- $1 user, $2 behind this one, $3 how many
with next as (
    select memory_id
    from memories
    where user_id = $1 and memory_id > $2
    order by memory_id
    limit $3
    for no key update
), forgotten as (
    update memories m
    set words = null
    from next n
    where m.user_id = $1 and m.memory_id = n.memory_id
)
select max(memory_id)
from next
