-- Locks a user some of whose words have to be forgotten. A user whom another process has locked is skipped. A user with 100
-- conversations that wait to be indexed gets no more of them: other users' new ones would wait behind all of these.
-- $1 how many of the first are passed over
select user_id, memories_forgotten_to, items_forgotten_to, conversations_forgotten_to
from users u
where memories_forgotten_to is not null
   or items_forgotten_to is not null
   or conversations_forgotten_to is not null and not exists (
       select from conversations c
       where c.user_id = u.user_id and c.status = 'completed' and c.indexed_revision is null
       offset 100
   )
order by user_id
limit 1 offset $1
for no key update skip locked
