-- Takes one from the bucket of an app, which holds $3 and fills up in a minute. Of several at once each waits for the row, and
-- judges it as the others left it.
update apps
set requests_full_at = (greatest(requests_full_at, statement_timestamp()) at time zone 'UTC' + interval '1 minute' / $3) at time zone 'UTC'
where user_id = $1 and app_id = $2
    and (requests_full_at is null
        or requests_full_at <= statement_timestamp() + interval '1 minute' - interval '1 minute' / $3)
