update app_installs
set removed_at = $3
where user_id = $1 and app_id = $2 and removed_at is null
