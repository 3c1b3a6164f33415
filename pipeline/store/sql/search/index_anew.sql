-- Has the next conversations of a user indexed anew that show the name of a person ($2; null: the user's own), and answers to which
-- it came; null: to the end. One that is being indexed is waited for, because the old name may have been read for it.
-- $1 user, $2 person, $3 behind this one, $4 how many are looked at
with next as (
    select conversation_id
    from conversations
    where user_id = $1 and conversation_id > $3
    order by conversation_id
    limit $4
), named as (
    select c.conversation_id
    from conversations c
    join next using (conversation_id)
    where c.user_id = $1
        and c.status = 'completed'
        and exists (
            select from transcript_segments s
            where s.user_id = $1
                and s.conversation_id = c.conversation_id
                and (s.person_id = $2 or ($2 is null and s.is_user))
        )
    order by c.conversation_id
    for no key update of c
), forgotten as (
    update conversations c
    set indexed_revision = null
    from named n
    where c.user_id = $1 and c.conversation_id = n.conversation_id
)
select max(conversation_id)
from next
