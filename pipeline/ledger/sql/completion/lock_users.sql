-- The users whose conversations are kept, locked: their items and memories are compared and counted below. Skips users that
-- another transaction has locked.
select user_id
from users
where user_id = any ($1)
order by user_id
for no key update skip locked
