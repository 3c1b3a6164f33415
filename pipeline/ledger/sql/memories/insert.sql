insert into memories (user_id, memory_id, content, category, visibility, tags, manually_added, reviewed, user_review,
    created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, true, true, true, $7, $7)
returning memory_id, content, category, visibility = 'public' as public, tags, created_at, updated_at, manually_added, reviewed,
    user_review, edited, scoring, conversation_id
