-- $1 names the row, $2 is empty; there is no previous secret.
update audio_webhooks
set secret = $3
where user_id = $1
  and $2 = ''
  and $4::text is null
