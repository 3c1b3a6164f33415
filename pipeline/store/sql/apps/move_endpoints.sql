-- Webhooks of installed apps whose app has another address by now: the failures of the old one are not its own.
with behind as (
    select e.user_id, e.endpoint_id, a.webhook_url
    from webhook_endpoints e join apps a on a.app_id = e.app_id
    where e.app_id is not null and ($1::text is null or e.app_id = $1)
        and a.webhook_url is not null and a.webhook_url <> e.url
    order by e.user_id, e.endpoint_id limit $2
    for update of e skip locked)
update webhook_endpoints e
set url = b.webhook_url, failing_since = null, consecutive_failures = 0, open_until = null, updated_at = statement_timestamp()
from behind b where e.user_id = b.user_id and e.endpoint_id = b.endpoint_id
