-- Keeps what came of a turn, if it is still this process's: a turn that ran out or was cleared away stays as it is.
-- $1 user, $2 the reply's id, $3 status, $4 trouble, $5 engine, $6 sources, $7 tools, $8 the text
with ended as (
    update chat_turns set status = $3, trouble = $4, engine = $5, sources = $6, tools = $7
    where user_id = $1 and reply_id = $2::uuid and status = 'running'
    returning reply_id
)
update chat_messages m set text = $8
from ended where m.user_id = $1 and m.message_id = ended.reply_id
