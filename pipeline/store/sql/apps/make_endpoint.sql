insert into webhook_endpoints (
    user_id, endpoint_id, app_id, url, events, format, secret, created_at, updated_at
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $8)
on conflict do nothing
