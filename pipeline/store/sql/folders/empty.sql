-- Takes at most $4 conversations out of a folder.
with filed as (
    select conversation_id
    from conversations
    where user_id = $1 and folder_id = $2
    order by created_at desc, conversation_id
    limit $4
    for no key update
)
update conversations
set folder_id = null, updated_at = $3
where user_id = $1 and conversation_id = any(array(select conversation_id from filed))
