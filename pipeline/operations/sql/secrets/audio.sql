select user_id, ''::text as id, secret, null::text as previous_secret from audio_webhooks
where (user_id, '') > ($2, $3) and not starts_with(secret, $1)
order by user_id limit $4
for no key update skip locked
