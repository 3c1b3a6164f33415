-- Goes on with the user's live conversation of the id $2 that still waits for words. Without an id: with the newest one of
-- the device $3, or of none. A client whose id is used up goes on with the newest one of its device, if it names one.
with found as (
    select conversation_id
    from conversations
    where user_id = $1
      and status = 'in_progress'
      and live_epoch is not null
      and case
          when conversation_id = $2 then true
          when $2::text is null then client_device_id is not distinct from $3
          else client_device_id = $3 and (
              exists (select from conversations u where u.user_id = $1 and u.conversation_id = $2)
              or exists (select from deleted_conversations d where d.user_id = $1 and d.conversation_id = $2)
          )
      end
      and last_activity_at > $4::timestamptz - live_timeout * interval '1 second'
    order by conversation_id is not distinct from $2 desc, last_activity_at desc
    limit 1
    for update
)
update conversations c
set live_epoch = c.live_epoch + 1,
    live_timeout = $5::integer,
    live_process = $6,
    live_since = $4,
    process_after = (c.last_activity_at at time zone 'UTC' + $5::integer * interval '1 second') at time zone 'UTC'
from found
where c.user_id = $1 and c.conversation_id = found.conversation_id
returning
    c.conversation_id,
    c.live_epoch,
    c.started_at,
    c.last_activity_at,
    exists (
        select from transcript_segments s
        where s.user_id = c.user_id and s.conversation_id = c.conversation_id
    ) as has_words,
    exists (
        select from photos p
        where p.user_id = c.user_id and p.conversation_id = c.conversation_id
    ) as has_pictures
