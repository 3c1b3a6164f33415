select count(*)
from app_keys
where user_id = $1 and app_id = $2 and revoked_at is null
