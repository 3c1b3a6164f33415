insert into photos (user_id, conversation_id, photo_id, base64, created_at)
values ($1, $2, $3, $4, $5)
on conflict (user_id, conversation_id, photo_id) do nothing
