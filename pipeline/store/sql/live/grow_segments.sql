update transcript_segments s
set content = t.content, end_seconds = greatest(t.end_seconds, s.start_seconds)
from unnest($3::integer[], $4::text[], $5::float8[]) t (position, content, end_seconds)
where s.user_id = $1 and s.conversation_id = $2 and s.position = t.position
