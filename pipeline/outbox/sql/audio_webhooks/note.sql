-- $3: it was delivered; $4: the receiver answered 410; $5 failures in a row disable it. A success that changes nothing
-- but its time is written once a minute at most. No row: it was changed or disabled since.
update audio_webhooks set failures = case when $3 then 0 else failures + 1 end,
    failing_since = case when not $3 then coalesce(failing_since, statement_timestamp()) end,
    last_success_at = case when $3 then statement_timestamp() else last_success_at end,
    enabled = $3 or not ($4 or failures + 1 >= $5),
    disabled_reason = case when $3 then null when $4 then 'gone' when failures + 1 >= $5 then 'failing' end
where user_id = $1 and version = $2 and enabled
    and (not $3 or failures > 0 or last_success_at is null
        or last_success_at < statement_timestamp() - interval '1 minute')
