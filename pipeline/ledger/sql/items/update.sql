-- What was extracted under other words is not extracted again beside what the user made of it. These words are not those of its
-- deletion, which are noted, too, under the id alone.
with noted as (
    insert into deleted_extractions (user_id, conversation_id, kind, object_id, content)
    select user_id, conversation_id, 'action_item', action_item_id || '/extracted', description
    from action_items
    where user_id = $1 and action_item_id = $2 and revision is not null and description <> $4
    on conflict do nothing
)
update action_items
set updated_at = $3,
    by_person = true,
    description = coalesce($4, description),
    words = case when coalesce($4, description) = description then words end,
    completed = coalesce($5, completed),
    -- When it was done is noted once, and cleared with it.
    completed_at = case coalesce($5, completed) when true then coalesce(completed_at, $3) end,
    -- A due date may be cleared: null is a value here, and $6 says whether one was sent.
    due_at = case when $6 then $7 else due_at end
where user_id = $1 and action_item_id = $2
returning action_item_id, description, completed, created_at, updated_at, due_at, completed_at, conversation_id, position
