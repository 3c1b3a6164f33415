-- Stored secrets: all, those that are sealed, and those that the newest key sealed ($1 is how its texts begin).
select count(*) as stored, count(*) filter (where secret like 'aes1.%') as sealed,
    count(*) filter (where $1 <> '' and starts_with(secret, $1)) as newest
from (
    select secret from webhook_endpoints
    union all select previous_secret from webhook_endpoints where previous_secret is not null
    union all select auth from push_subscriptions where auth is not null
    union all select secret from audio_webhooks
    union all select mcp_token from apps where mcp_token is not null
    union all select secret from apps) s (secret)
