-- What was extracted from a conversation is not extracted from it again. Of what was reworded, the first words are noted already.
with gone as (
    delete from memories
    where user_id = $1 and memory_id = $2
    returning user_id, conversation_id, memory_id, content, revision
), noted as (
    insert into deleted_extractions (user_id, conversation_id, kind, object_id, content)
    select user_id, conversation_id, 'memory', memory_id, content
    from gone
    where revision is not null
    on conflict do nothing
)
select conversation_id
from gone
