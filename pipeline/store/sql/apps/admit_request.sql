-- Takes one from the bucket of an app, which holds $3 and fills up in a minute. Of several at once each waits for the row, and
-- judges it as the others left it. No bucket takes longer than a minute to fill up: one that would, by more than a wait for the
-- row explains, was drawn on before the database's clock was set back.
update apps
set requests_full_at = (least(
        greatest(requests_full_at, statement_timestamp()),
        statement_timestamp() + interval '1 minute' - interval '1 minute' / $3
    ) at time zone 'UTC' + interval '1 minute' / $3) at time zone 'UTC'
where user_id = $1 and app_id = $2
    and (requests_full_at is null
        or requests_full_at <= statement_timestamp() + interval '1 minute' - interval '1 minute' / $3
        or requests_full_at > statement_timestamp() + interval '2 minutes')
