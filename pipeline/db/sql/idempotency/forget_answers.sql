-- An answer that is not kept yet never will be.
update request_keys
set status = null, answer = null, running_until = 'epoch'
where user_id = $1 and made && $2
