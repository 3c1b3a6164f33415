-- Stores the health of a locked endpoint.
update webhook_endpoints
set enabled = $3,
    disabled_reason = $4,
    failing_since = $5,
    consecutive_failures = $6,
    open_until = $7,
    last_success_at = $8,
    updated_at = $9
where user_id = $1
  and endpoint_id = $2
