-- What was said in some conversations, in its order, with the name of its speaker where that is known.
-- $1 users, $2 conversations, $3 their places
select k.place, s.content, s.is_user, p.name as person
from unnest($1::text[], $2::text[], $3::bigint[]) k (user_id, conversation_id, place)
    join transcript_segments s on s.user_id = k.user_id and s.conversation_id = k.conversation_id
    left join people p on p.user_id = k.user_id and p.person_id = s.person_id
order by k.place, s.position
