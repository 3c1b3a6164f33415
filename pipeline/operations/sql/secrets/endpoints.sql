-- A page of endpoints with a secret that the newest key ($1) has not sealed, locked; what another transaction holds comes later.
select user_id, endpoint_id as id, secret, previous_secret from webhook_endpoints
where (user_id, endpoint_id) > ($2, $3)
    and (not starts_with(secret, $1) or not starts_with(coalesce(previous_secret, $1), $1))
order by user_id, endpoint_id limit $4
for no key update skip locked
