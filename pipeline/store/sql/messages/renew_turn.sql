-- Stores what there is of a running turn's reply, and renews its lease, if that did not run out: a turn that reads as interrupted
-- goes on so until it ends.
-- $1 user, $2 the reply's id, $3 seconds of the lease, $4 engine, $5 sources, $6 tools, $7 the text
with renewed as (
    update chat_turns
    set running_until = case when running_until > clock.now then clock.until else running_until end,
        engine = $4, sources = $5, tools = $6
    from (
        select
            statement_timestamp() as now,
            statement_timestamp() + $3 * interval '1 second' as until
    ) clock
    where user_id = $1 and reply_id = $2::uuid and status = 'running'
    returning reply_id
)
update chat_messages m set text = $7
from renewed where m.user_id = $1 and m.message_id = renewed.reply_id
