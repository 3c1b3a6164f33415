-- How many bytes the transcripts of these conversations take, and $3 for each segment.
select coalesce(
    sum(
        $3 + octet_length(content) + coalesce(octet_length(segment_id), 0) + coalesce(octet_length(speaker), 0)
            + coalesce(octet_length(person_id), 0)
    ),
    0
)::bigint
from transcript_segments
where user_id = $1 and conversation_id = any($2)
