-- What must be known of a conversation before it is processed again; locked, so that no admission and no replay comes between.
select c.status,
       c.finalization_revision,
       c.private_text is not null
           or exists (select from transcript_segments s
                      where s.user_id = c.user_id and s.conversation_id = c.conversation_id)
           or exists (select from photos p
                      where p.user_id = c.user_id and p.conversation_id = c.conversation_id) as has_content
from conversations c
where c.user_id = $1
  and c.conversation_id = $2
for no key update of c
