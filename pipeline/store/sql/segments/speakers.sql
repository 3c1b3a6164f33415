select distinct speaker, speaker_id
from transcript_segments
where user_id = $1 and conversation_id = $2 and speaker_id is not null
