-- The newest messages of a thread, newest first, from before a message on. A running turn whose process is gone shows as failed.
-- $1 user, $2 thread, $3 before this message, $4 how many, $5 seconds until a turn is settled
select m.message_id::text, m.created_at, m.sender, m.app_id::text, m.text, t.engine, t.sources, t.tools,
    case when t.status = 'running' and t.running_until <= statement_timestamp() then 'failed' else t.status end as status,
    case when t.status = 'running' and t.running_until <= statement_timestamp() then 'interrupted' else t.trouble end
        as trouble,
    coalesce(t.status <> 'running' or t.begun_at <= statement_timestamp() - $5 * interval '1 second', true) as is_settled
from chat_messages m
    left join chat_turns t on t.user_id = m.user_id and t.reply_id = m.message_id
where m.user_id = $1 and m.thread = $2
    and ($3::uuid is null or (m.created_at, m.message_id) < (
        select b.created_at, b.message_id from chat_messages b
        where b.user_id = $1 and b.thread = $2 and b.message_id = $3::uuid))
order by m.created_at desc, m.message_id desc
limit $4
