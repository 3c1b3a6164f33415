-- Changes what is given. Enabling and another URL clear every mark of failure; disabling one that is disabled keeps its reason.
update webhook_endpoints
set updated_at = $3,
    url = coalesce($4, url),
    events = coalesce($5, events),
    format = coalesce($6, format),
    enabled = coalesce($7, enabled),
    disabled_reason = case $7
        when true then null
        when false then coalesce(disabled_reason, 'by_owner')
        else disabled_reason
    end,
    failing_since = case when $7 or $4 <> url then null else failing_since end,
    consecutive_failures = case when $7 or $4 <> url then 0 else consecutive_failures end,
    open_until = case when $7 or $4 <> url then null else open_until end,
    waking = waking and coalesce($7, true)
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
