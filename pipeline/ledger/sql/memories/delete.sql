-- What was extracted from a conversation is not extracted from it again.
with gone as (
    delete from memories
    where user_id = $1 and memory_id = $2
    returning user_id, conversation_id, memory_id, content, revision
), noted as (
    insert into deleted_extractions (user_id, conversation_id, kind, object_id, content)
    select user_id, conversation_id, 'memory', memory_id, content
    from gone
    where revision is not null
)
select conversation_id
from gone
