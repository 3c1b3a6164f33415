-- The known people whom the transcripts of a batch name, in the order of appearance; ordered as in `batch_items.sql`.
select t.*, k.place
from unnest($1::text[], $2::text[], $3::bigint[]) k (user_id, conversation_id, place)
cross join lateral (
    select p.person_id, p.name
    from people p
    join (
        select s.person_id, min(s.position) as first
        from transcript_segments s
        where s.user_id = k.user_id and s.conversation_id = k.conversation_id and s.person_id is not null
        group by s.person_id) named using (person_id)
    where p.user_id = k.user_id
    order by named.first) t
