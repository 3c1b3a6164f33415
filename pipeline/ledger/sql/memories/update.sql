-- What was extracted under other words is not extracted again beside what the user made of it. These words are not those of its
-- deletion, which are noted, too, under the id alone.
with before as (
    select user_id, memory_id, conversation_id, content, revision
    from memories
    where user_id = $1 and memory_id = $2
    for update
), noted as (
    insert into deleted_extractions (user_id, conversation_id, kind, object_id, content)
    select user_id, conversation_id, 'memory', memory_id || '/extracted', content
    from before
    where revision is not null and content <> $4
    on conflict do nothing
)
update memories m
set updated_at = $3,
    edited = true,
    content = coalesce($4, m.content),
    words = case when coalesce($4, m.content) = m.content then m.words end,
    category = coalesce($5, m.category),
    visibility = coalesce($6, m.visibility),
    tags = coalesce($7, m.tags)
from before
where m.user_id = before.user_id and m.memory_id = before.memory_id
returning m.memory_id, m.content, m.category, m.visibility = 'public' as public, m.tags, m.created_at, m.updated_at,
    m.manually_added, m.reviewed, m.user_review, m.edited, m.scoring, m.conversation_id
