-- The dead letters of these conversations that wait for an operator.
select j.*
from unnest($1::text[], $2::text[]) c (user_id, conversation_id)
join finalization_jobs j using (user_id, conversation_id)
where j.status = 'dead_letter'
  and j.settled_at is null
