insert into deleted_conversations (user_id, conversation_id, deleted_at)
values ($1, $2, $3)
on conflict do nothing
