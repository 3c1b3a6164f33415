-- Keeps what came of a turn, if it is still this process's: a turn that another message ended, that was cleared away or that is
-- settled stays as it is. One whose lease ran out is still answered.
-- $1 user, $2 the reply's id, $3 status, $4 trouble, $5 engine, $6 sources, $7 tools, $8 the text, $9 seconds until it is settled
with ended as (
    update chat_turns set status = $3, trouble = $4, engine = $5, sources = $6, tools = $7
    where user_id = $1 and reply_id = $2::uuid and status = 'running'
        and begun_at > statement_timestamp() - $9 * interval '1 second'
    returning reply_id
)
update chat_messages m set text = $8
from ended where m.user_id = $1 and m.message_id = ended.reply_id
