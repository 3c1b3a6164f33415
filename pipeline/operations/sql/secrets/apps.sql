select user_id, app_id as id, secret, null::text as previous_secret from apps
where (user_id, app_id) > ($2, $3) and not starts_with(secret, $1)
order by user_id, app_id limit $4
for no key update skip locked
