select conversation_id
from finalization_jobs j
where user_id = $1
  and finished_at is null
  and exists (select from conversations c where c.user_id = j.user_id and c.conversation_id = j.conversation_id)
order by status = 'leased' desc
limit $2
