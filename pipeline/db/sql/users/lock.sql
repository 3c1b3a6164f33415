select deleting_since is null
from users
where user_id = $1
for no key update
