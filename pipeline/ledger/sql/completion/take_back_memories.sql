delete from memories
where user_id = $1
  and conversation_id = $2
  and revision < $3
  and not edited
  and not reviewed
  and not manually_added
  and user_review is null
returning memory_id
