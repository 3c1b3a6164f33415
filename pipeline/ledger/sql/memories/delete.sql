delete from memories
where user_id = $1 and memory_id = $2
returning conversation_id
