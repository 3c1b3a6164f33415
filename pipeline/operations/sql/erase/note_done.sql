update operator_actions
set detail = 'done ' || to_char($2::timestamptz at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || substr(detail, 6)
where user_id = ''
  and action = 'delete_user'
  and subject = $1
  and detail like 'begun: %'
