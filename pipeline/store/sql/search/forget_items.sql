update action_items a
set words = null
from users u
where u.user_id = $1 and a.user_id = u.user_id and u.language <> $2
