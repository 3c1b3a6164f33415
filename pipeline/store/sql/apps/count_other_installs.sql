select count(*)
from app_installs
where user_id = $1 and removed_at is null and app_id <> $2
