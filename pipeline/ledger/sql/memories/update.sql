update memories
set updated_at = $3,
    edited = true,
    content = coalesce($4, content),
    words = case when coalesce($4, content) = content then words end,
    category = coalesce($5, category),
    visibility = coalesce($6, visibility),
    tags = coalesce($7, tags)
where user_id = $1 and memory_id = $2
returning memory_id, content, category, visibility = 'public' as public, tags, created_at, updated_at, manually_added, reviewed,
    user_review, edited, scoring, conversation_id
