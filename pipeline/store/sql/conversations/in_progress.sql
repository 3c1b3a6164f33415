select conversation_id, live_epoch is not null as is_live
from conversations c
where user_id = $1
  and status = 'in_progress'
  and (
      live_epoch is null
      or c.private_text is not null
      or exists (
          select from transcript_segments s
          where s.user_id = c.user_id and s.conversation_id = c.conversation_id
      )
      or exists (select from photos p where p.user_id = c.user_id and p.conversation_id = c.conversation_id)
  )
order by coalesce(last_activity_at, last_append_at, created_at) desc, created_at desc, conversation_id
limit 1
