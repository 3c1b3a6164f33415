-- Which of the segments $3 are known: of the conversation, or of one before it from the same device, which a client that
-- began a new one may still send.
with before as (
    select p.conversation_id
    from conversations c
    join conversations p on p.user_id = c.user_id
    where c.user_id = $1
      and c.conversation_id = $2
      and p.conversation_id <> c.conversation_id
      and p.created_at > c.created_at - interval '6 hours'
      and p.live_epoch is not null
      and p.client_device_id is not distinct from c.client_device_id
    order by p.created_at desc
    limit 8
)
select segment_id, case when conversation_id <> $2 then content end as words_before, position, start_seconds,
    octet_length(concat(content, segment_id, speaker, person_id)) as bytes, speaker_id
from transcript_segments
where user_id = $1
  and conversation_id = any(array(select $2 union all select conversation_id from before))
  and segment_id = any($3)
