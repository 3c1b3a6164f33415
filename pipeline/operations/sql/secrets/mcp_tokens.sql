select user_id, app_id as id, mcp_token as secret, null::text as previous_secret from apps
where (user_id, app_id) > ($2, $3) and mcp_token is not null and not starts_with(mcp_token, $1)
order by user_id, app_id limit $4
for no key update skip locked
