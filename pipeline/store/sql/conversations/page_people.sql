-- The known people whom the transcripts of a page name, in the order of appearance; ordered as in `page_segments.sql`.
select t.*, k.place - 1 as place
from unnest($2::text[]) with ordinality k (conversation_id, place)
cross join lateral (
    select p.person_id, p.name
    from people p
    join (
        select s.person_id, min(s.position) as first
        from transcript_segments s
        where s.user_id = $1 and s.conversation_id = k.conversation_id and s.person_id is not null
        group by s.person_id) named using (person_id)
    where p.user_id = $1
    order by named.first) t
