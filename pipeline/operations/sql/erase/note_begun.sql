update operator_actions
set detail = 'begun: ' || $2
where user_id = ''
  and action = 'delete_user'
  and subject = $1
  and detail is null
