select memory_id, content, category, visibility = 'public' as public, tags, created_at, updated_at, manually_added, reviewed,
    user_review, edited, scoring, conversation_id
from memories
where user_id = $1 and memory_id = any($2)
order by array_position($2, memory_id)
