-- How many endpoints a user has besides those of apps, and whether one of them has the URL $2.
select count(*), coalesce(bool_or(url = $2), false)
from webhook_endpoints
where user_id = $1
  and app_id is null
