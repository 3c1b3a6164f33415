-- Stored secrets: all, those that are sealed, those that the newest key sealed, and those that no key opens. $1 is how the texts of
-- each key begin, the newest first.
select count(*) as stored, count(*) filter (where secret like 'aes1.%') as sealed,
    count(*) filter (where starts_with(secret, ($1::text[])[1])) as newest,
    count(*) filter (where secret like 'aes1.%'
        and not exists (select from unnest($1::text[]) k (form) where starts_with(secret, k.form))) as unopened
from (
    select secret from webhook_endpoints
    union all select previous_secret from webhook_endpoints where previous_secret is not null
    union all select auth from push_subscriptions where auth is not null
    union all select secret from audio_webhooks
    union all select mcp_token from apps where mcp_token is not null
    union all select secret from apps) s (secret)
