update transcript_segments
set person_id = $3, is_user = $3::text is null
where user_id = $1
  and conversation_id = $2
  and (speaker_id = $4 or segment_id = any($5))
