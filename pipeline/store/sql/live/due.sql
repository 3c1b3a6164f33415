select process_after as at, user_id, conversation_id as id
from conversations
where status = 'in_progress'
  and process_after is not null
  and process_after < statement_timestamp() - $5 * interval '1 second'
  and (process_after, user_id, conversation_id) > (
      coalesce($2::timestamptz, '-infinity'), coalesce($3, ''), coalesce($4, '')
  )
order by process_after, user_id, conversation_id
limit $1
