update operator_actions
set detail = 'done ' || $2::timestamptz || ', ' || detail
where user_id = ''
  and action = 'delete_user'
  and subject = $1
  and detail like 'begun: %'
