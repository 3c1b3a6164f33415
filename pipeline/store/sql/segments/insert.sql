insert into transcript_segments (
    user_id, conversation_id, position, segment_id, content, speaker, speaker_id, is_user, person_id,
    start_seconds, end_seconds
)
select $1, $2, $3 + t.ordinal::integer - 1, t.segment_id, t.content, t.speaker, t.speaker_id, t.is_user,
    t.person_id, t.start_seconds, t.end_seconds
from unnest(
    $4::text[], $5::text[], $6::text[], $7::integer[], $8::boolean[], $9::text[], $10::float8[], $11::float8[]
) with ordinality t (
    segment_id, content, speaker, speaker_id, is_user, person_id, start_seconds, end_seconds, ordinal
)
