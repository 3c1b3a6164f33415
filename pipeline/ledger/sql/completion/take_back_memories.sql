delete from memories
where user_id = $1 and memory_id = any ($2)
