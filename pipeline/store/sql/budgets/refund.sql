update user_usage
set bytes = bytes - $2
where user_id = $1
