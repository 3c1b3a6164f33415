-- The enabled endpoints of users $1 that subscribed to any of the events $2.
select user_id, endpoint_id, events
from webhook_endpoints
where user_id = any ($1)
  and enabled
  and events && $2
