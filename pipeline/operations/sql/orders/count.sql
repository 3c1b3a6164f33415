-- What an order for many jobs found. It is the service's own action, of no user.
update operator_actions
set detail = $3
where user_id = ''
  and action = $1
  and subject = $2
