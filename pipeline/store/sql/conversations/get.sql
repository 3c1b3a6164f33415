select c.user_id, c.conversation_id, c.created_at, c.updated_at, c.started_at, c.finished_at, c.language, c.source, c.status,
    c.title, c.overview, c.emoji, c.category, nullif(c.events, '[]') as events,
    nullif(c.apps_results, '[]') as apps_results, c.folder_id, c.starred, c.visibility, c.discarded, c.geolocation,
    c.finalization_revision
from conversations c
where c.user_id = $1 and c.conversation_id = $2
