-- The segments of a batch of conversations, in their order; ordered as in `conversations/batch_items.sql`.
select t.*, k.place
from unnest($1::text[], $2::text[], $3::bigint[]) k (user_id, conversation_id, place)
cross join lateral (
    select s.segment_id, s.content, s.speaker, s.speaker_id, s.is_user, s.person_id, s.start_seconds, s.end_seconds
    from transcript_segments s
    where s.user_id = k.user_id and s.conversation_id = k.conversation_id
    order by s.position) t
