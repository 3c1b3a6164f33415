-- The job of a conversation's newest revision; none once the conversation is deleted.
select j.*, c.status as conversation_status
from finalization_jobs j
join conversations c using (user_id, conversation_id)
where j.user_id = $1
  and j.conversation_id = $2
order by j.revision desc
limit 1
