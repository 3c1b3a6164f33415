-- A user of whom words are still to be forgotten, locked; one whom another process is at is left to it.
select user_id, memories_forgotten_to, items_forgotten_to
from users
where memories_forgotten_to is not null or items_forgotten_to is not null
order by user_id
limit 1
for no key update skip locked
