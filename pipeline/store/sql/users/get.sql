select user_id, name, time_zone, language, requires_byok, apps, created_at
from users
where user_id = $1
