-- The newest job of each conversation, if it ever had one.
select (select a.job_id
        from finalization_admissions a
        where a.user_id = k.user_id and a.conversation_id = k.conversation_id
        order by a.revision desc
        limit 1)
from unnest($1::text[], $2::text[]) with ordinality as k (user_id, conversation_id, place)
order by k.place
