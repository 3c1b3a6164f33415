select count(*)
from developer_keys
where user_id = $1 and revoked_at is null and coalesce(expires_at > $2, true)
