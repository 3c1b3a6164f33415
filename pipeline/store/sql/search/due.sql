-- Conversations to be indexed, locked so that two processes never index one at once; what is locked is left to the next look.
-- $1 how many, $2 how many of the first are passed over
select c.user_id, c.conversation_id, c.finalization_revision, c.started_at, c.language, c.title, c.overview,
    c.engine, c.private_text, c.discarded, u.name as user_name
from conversations c
    join users u on u.user_id = c.user_id
where c.status = 'completed' and c.indexed_revision is null
order by c.user_id, c.conversation_id
limit $1 offset $2
for no key update of c skip locked
