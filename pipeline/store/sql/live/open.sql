-- Under the id that the client asked for, unless it is taken or was deleted.
with chosen as materialized (
    select case
        when $2::text is null
            or exists (select from conversations where user_id = $1 and conversation_id = $2)
            or exists (select from deleted_conversations where user_id = $1 and conversation_id = $2)
        then $3
        else $2
    end as conversation_id
)
insert into conversations (
    user_id, conversation_id, created_at, updated_at, started_at, finished_at, language, source, status,
    client_device_id, client_platform, live_epoch, live_timeout, last_activity_at, process_after, live_process,
    live_since
)
select $1, conversation_id, $4::timestamptz, $4, $4, $4, $5, $6, 'in_progress', $7, $8, 1, $9::integer, $4,
    $4 + $9 * interval '1 second', $10, $4
from chosen
returning conversation_id
