-- The segments of a page of conversations, in their order. A subquery with an `order by` is never merged into the join around it: it
-- is run for one conversation after the other, so that the rows of each keep their order.
select t.*, k.place - 1 as place
from unnest($2::text[]) with ordinality k (conversation_id, place)
cross join lateral (
    select s.segment_id, s.content, s.speaker, s.speaker_id, s.is_user, s.person_id, s.start_seconds, s.end_seconds
    from transcript_segments s
    where s.user_id = $1 and s.conversation_id = k.conversation_id
    order by s.position) t
