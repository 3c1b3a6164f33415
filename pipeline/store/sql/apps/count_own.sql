select count(*)
from apps
where user_id = $1
