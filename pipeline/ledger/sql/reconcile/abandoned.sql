-- Deferred conversations whose last append is 24 hours old, oldest first after ($1, $2, $3).
select last_append_at as at, user_id, conversation_id as id
from conversations
where status = 'in_progress'
  and last_append_at < statement_timestamp() - interval '24 hours'
  and (last_append_at, user_id, conversation_id)
      > (coalesce($1::timestamptz, '-infinity'), coalesce($2, ''), coalesce($3, ''))
order by last_append_at, user_id, conversation_id
limit $4
