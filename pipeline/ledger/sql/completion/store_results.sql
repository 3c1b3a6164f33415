-- What a person set is not overwritten; rows are locked in the order in which all lock them.
with done as (
    select t.*, f.folder_id as filed
    from unnest(
        $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::jsonb[], $9::jsonb[],
        $10::text[], $11::text[]
    ) t (user_id, conversation_id, title, overview, emoji, category, events, apps, engine, folder_id)
    join conversations c on c.user_id = t.user_id and c.conversation_id = t.conversation_id
    left join folders f on f.user_id = t.user_id and f.folder_id = t.folder_id
    order by t.user_id, t.conversation_id
    for no key update of c
)
update conversations c
set status = 'completed',
    updated_at = $1,
    title = case when c.title_by_person then c.title else d.title end,
    overview = d.overview,
    emoji = d.emoji,
    category = d.category,
    events = d.events,
    apps_results = d.apps,
    engine = d.engine,
    folder_id = case when c.folder_by_person then c.folder_id else coalesce(d.filed, c.folder_id) end,
    discarded = c.discarded and c.discarded_by_person,
    discarded_by_failure = false,
    indexed_revision = null
from done d
where c.user_id = d.user_id and c.conversation_id = d.conversation_id
