-- The request runs no more; what it made is all that is kept. 'epoch' stays: what it made was deleted.
update request_keys set running_until = least(running_until, statement_timestamp())
where user_id = $1 and route = $2 and request_key = $3 and fingerprint = $4 and answer is null
