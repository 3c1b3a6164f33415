-- What the user wrote, and the reply to be filled. The reply is the younger one by a microsecond.
-- $1 user, $2 thread, $3 the message's id, $4 the reply's id, $5 now, $6 the app of the thread, $7 the text
insert into chat_messages (user_id, thread, message_id, created_at, sender, app_id, text)
values ($1, $2, $3::uuid, $5, 'human', $6::uuid, $7),
       ($1, $2, $4::uuid, $5::timestamptz + interval '1 microsecond', 'ai', $6::uuid, '')
