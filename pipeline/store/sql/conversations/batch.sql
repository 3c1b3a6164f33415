-- Conversations of a batch, each with its place in it, and the names that a view shows.
select c.user_id, c.conversation_id, c.created_at, c.updated_at, c.started_at, c.finished_at, c.language, c.source, c.status,
    c.title, c.overview, c.emoji, c.category, nullif(c.events, '[]') as events,
    nullif(c.apps_results, '[]') as apps_results, c.folder_id, c.starred, c.visibility, c.discarded, c.geolocation,
    c.finalization_revision,
    (select u.name from users u where u.user_id = c.user_id) as user_name,
    (select f.name from folders f where f.user_id = c.user_id and f.folder_id = c.folder_id) as folder_name,
    -- Most have none, and their items are then not queried.
    exists (
        select from action_items i
        where i.user_id = c.user_id and i.conversation_id = c.conversation_id) as has_items,
    k.place
from unnest($1::text[], $2::text[], $3::bigint[]) k (user_id, conversation_id, place)
join conversations c on c.user_id = k.user_id and c.conversation_id = k.conversation_id
