delete from deleted_extractions
where user_id = $1 and conversation_id = $2
