-- The request runs no more. 'epoch' stays as it is: what the request made was deleted.
update request_keys
set status = $5, answer = $6, running_until = least(running_until, statement_timestamp())
where user_id = $1
  and route = $2
  and request_key = $3
  and fingerprint = $4
  and answer is null
  and running_until > 'epoch'
