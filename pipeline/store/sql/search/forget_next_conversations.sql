-- Marks the next conversations of a user that show a person's name, to be indexed again. Answers the last one that was looked at; null:
-- none is left. One that is being indexed is waited for: the name before may have been read for it.
-- $1 user, $2 behind this one, $3 how many
with next as (
    select conversation_id
    from conversations
    where user_id = $1 and conversation_id > $2
    order by conversation_id
    limit $3
    for no key update
), forgotten as (
    update conversations c
    set indexed_revision = null
    from next n
    where c.user_id = $1
      and c.conversation_id = n.conversation_id
      and c.status = 'completed'
      and exists (
          select from transcript_segments s
          where s.user_id = $1
            and s.conversation_id = c.conversation_id
            and (s.is_user or s.person_id is not null)
      )
)
select max(conversation_id)
from next
