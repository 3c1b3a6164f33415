delete from apps
where user_id = $1 and app_id = $2
