-- A repeat for the same URL keeps the secret, unless a new one ($5) is asked for: receivers go on verifying. Setting it
-- enables it and clears every mark of failure. $6 is now: in this form Citus takes no clock.
insert into audio_webhooks as w (user_id, url, seconds, secret, created_at, updated_at)
select user_id, $2, $3, $4, $6, $6 from users
where user_id = $1 and deleting_since is null
on conflict (user_id) do update set url = excluded.url, seconds = excluded.seconds,
    secret = case when w.url = excluded.url and not $5 then w.secret else excluded.secret end,
    last_success_at = case when w.url = excluded.url then w.last_success_at end,
    enabled = true, disabled_reason = null, failures = 0, failing_since = null,
    version = w.version + 1, updated_at = excluded.updated_at
returning url, seconds, enabled, disabled_reason, failing_since, last_success_at, created_at, updated_at,
    secret = $4 as is_new_secret
