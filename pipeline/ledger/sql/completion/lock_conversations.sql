-- The conversations of a batch, locked in key order. Skips conversations that another transaction has locked.
select c.user_id, c.conversation_id
from unnest($1::text[], $2::text[]) as k (user_id, conversation_id)
join conversations c on c.user_id = k.user_id and c.conversation_id = k.conversation_id
order by c.user_id, c.conversation_id
for no key update of c skip locked
