-- What must be known of a conversation before its next revision is admitted; locked, so that no append, no admission and no
-- replay comes between.
select c.status,
       c.finalization_revision,
       c.live_epoch,
       c.process_after,
       c.private_text is not null
           or exists (select from transcript_segments s
                      where s.user_id = c.user_id and s.conversation_id = c.conversation_id)
           or exists (select from photos p
                      where p.user_id = c.user_id and p.conversation_id = c.conversation_id) as has_content
from conversations c
where c.user_id = $1
  and c.conversation_id = $2
for no key update of c
