select user_id as owner_id, webhook_url, secret, switched_off_at is not null as is_switched_off
from apps
where app_id = $2 and (user_id = $1 or visibility = 'public')
