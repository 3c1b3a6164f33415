-- Locks a user some of whose words have to be forgotten. A user whom another process has locked is skipped.
-- $1 how many of the first are passed over
select user_id, memories_forgotten_to, items_forgotten_to, conversations_forgotten_to
from users
where memories_forgotten_to is not null or items_forgotten_to is not null or conversations_forgotten_to is not null
order by user_id
limit 1 offset $1
for no key update skip locked
