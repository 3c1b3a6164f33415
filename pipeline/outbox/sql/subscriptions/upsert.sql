-- Stores a subscription; one of that id gets the new keys, and is no longer failing.
insert into push_subscriptions (user_id, subscription_id, kind, url, p256dh, auth, created_at)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict (user_id, subscription_id) do update
set p256dh = excluded.p256dh,
    auth = excluded.auth,
    failing_since = null
returning subscription_id, kind, url, failing_since, last_success_at, created_at
