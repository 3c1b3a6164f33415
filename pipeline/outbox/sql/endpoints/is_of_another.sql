-- Whether the endpoint has another URL than $3, and another endpoint of the user's own has that one.
select exists (
    select
    from webhook_endpoints
    where user_id = $1
      and endpoint_id = $2
      and url <> $3
)
and exists (
    select
    from webhook_endpoints
    where user_id = $1
      and endpoint_id <> $2
      and url = $3
      and app_id is null
)
