-- A new secret; what it replaces signs for 24 hours, and one that does so already goes on.
update webhook_endpoints
set secret = $3,
    updated_at = statement_timestamp(),
    previous_secret = case
        when previous_secret_until > statement_timestamp() then previous_secret
        else secret
    end,
    previous_secret_until = case
        when previous_secret_until > statement_timestamp() then previous_secret_until
        else statement_timestamp() + interval '24 hours'
    end
where user_id = $1
  and endpoint_id = $2
returning
    endpoint_id,
    url,
    events,
    format,
    enabled,
    disabled_reason,
    failing_since,
    last_success_at,
    created_at,
    updated_at,
    app_id
