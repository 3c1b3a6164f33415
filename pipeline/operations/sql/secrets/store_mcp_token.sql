-- $1 and $2 name the row; there is no previous secret.
update apps
set mcp_token = $3
where user_id = $1
  and app_id = $2
  and $4::text is null
