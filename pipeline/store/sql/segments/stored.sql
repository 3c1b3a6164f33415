select segment_id
from transcript_segments
where user_id = $1 and conversation_id = $2 and segment_id = any($3)
