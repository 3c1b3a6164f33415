-- Memories and action items to be indexed, locked as conversations are (due.sql), with their texts and their users' languages.
-- $1 how many of each, $2 how many of the first are passed over
with due_memories as (
    select m.user_id, m.memory_id, m.content, u.language
    from memories m
        join users u on u.user_id = m.user_id
    where m.words is null
    order by m.user_id, m.memory_id
    limit $1 offset $2
    for no key update of m skip locked
), due_items as (
    select a.user_id, a.action_item_id, a.description, u.language
    from action_items a
        join users u on u.user_id = a.user_id
    where a.words is null
    order by a.user_id, a.action_item_id
    limit $1 offset $2
    for no key update of a skip locked
)
select true as is_memory, user_id, memory_id as id, content as text, language from due_memories
union all
select false, user_id, action_item_id, description, language from due_items
