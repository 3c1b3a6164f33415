select user_id || ' is being deleted since ' || deleting_since
from users
where deleting_since < now() - interval '1 day'
