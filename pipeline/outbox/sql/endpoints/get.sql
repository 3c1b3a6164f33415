-- One endpoint.
select
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
from webhook_endpoints
where user_id = $1
  and endpoint_id = $2
