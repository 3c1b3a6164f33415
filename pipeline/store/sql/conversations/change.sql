update conversations
set updated_at = $3,
    title = coalesce($4, title),
    title_by_person = title_by_person or $4 is not null,
    indexed_revision = case when $4 is null and $5::boolean is null then indexed_revision end,
    discarded = coalesce($5, discarded),
    discarded_by_person = discarded_by_person or $5 is not null,
    discarded_by_failure = discarded_by_failure and $5 is null,
    starred = coalesce($6, starred),
    folder_id = case when $7 then $8 else folder_id end,
    folder_by_person = folder_by_person or $7
where user_id = $1 and conversation_id = $2
