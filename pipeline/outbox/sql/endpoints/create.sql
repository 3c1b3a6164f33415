-- Stores an endpoint.
insert into webhook_endpoints (user_id, endpoint_id, url, events, format, secret)
values ($1, $2, $3, $4, $5, $6)
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
