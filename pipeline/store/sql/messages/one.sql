-- One message.
-- $1 user, $2 the message's id, $3 seconds until a turn is settled
select m.message_id::text, m.created_at, m.sender, m.app_id::text, m.text, t.engine, t.sources, t.tools,
    case when t.status = 'running' and t.running_until <= statement_timestamp() then 'failed' else t.status end as status,
    case when t.status = 'running' and t.running_until <= statement_timestamp() then 'interrupted' else t.trouble end
        as trouble,
    coalesce(t.status <> 'running' or t.begun_at <= statement_timestamp() - $3 * interval '1 second', true) as is_settled
from chat_messages m
    left join chat_turns t on t.user_id = m.user_id and t.reply_id = m.message_id
where m.user_id = $1 and m.message_id = $2::uuid
