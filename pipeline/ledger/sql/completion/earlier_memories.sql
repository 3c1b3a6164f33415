-- What earlier revisions extracted and no user has touched since.
select memory_id, content
from memories
where user_id = $1
  and conversation_id = $2
  and revision < $3
  and not edited
  and not reviewed
  and not manually_added
  and user_review is null
order by created_at, memory_id
for update
