update request_keys
set status = $5, answer = $6
where user_id = $1
  and route = $2
  and request_key = $3
  and fingerprint = $4
  and answer is null
  and running_until > 'epoch'
