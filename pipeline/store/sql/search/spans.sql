-- A user's conversations that began in a span of time, newest first. A conversation is created when it is over, or later.
-- $1 user, $2 from, $3 until, $4 how many
select conversation_id, title, overview, category, started_at, finished_at
from conversations
where status = 'completed' and not discarded and user_id = $1
    and ($2::timestamptz is null or (started_at >= $2 and created_at >= $2 - interval '1 day'))
    and ($3::timestamptz is null or started_at < $3)
order by started_at desc, conversation_id
limit $4
