-- Locks a user who is not being deleted.
select 1
from users
where user_id = $1 and deleting_since is null
for no key update
