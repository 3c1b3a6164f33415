select
    status,
    live_epoch,
    process_after,
    (
        c.private_text is not null
        or exists (
            select from transcript_segments s
            where s.user_id = c.user_id and s.conversation_id = c.conversation_id
        )
        or exists (select from photos p where p.user_id = c.user_id and p.conversation_id = c.conversation_id)
    ) as has_content
from conversations c
where user_id = $1 and conversation_id = $2
for update of c
