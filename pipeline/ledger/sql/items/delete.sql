-- What was extracted from a conversation is not extracted from it again.
with gone as (
    delete from action_items
    where user_id = $1 and action_item_id = $2
    returning user_id, conversation_id, action_item_id, description, revision
)
insert into deleted_extractions (user_id, conversation_id, kind, object_id, content)
select user_id, conversation_id, 'action_item', action_item_id, description
from gone
where revision is not null
