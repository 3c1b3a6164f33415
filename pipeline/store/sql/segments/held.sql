select
    count(*) as segments,
    coalesce(sum(octet_length(concat(content, segment_id, speaker, person_id))), 0)::bigint as bytes,
    coalesce(max(position) + 1, 0) as next_position
from transcript_segments
where user_id = $1 and conversation_id = $2
