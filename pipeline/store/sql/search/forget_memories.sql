update memories m
set words = null
from users u
where u.user_id = $1 and m.user_id = u.user_id and u.language <> $2
