-- Conversations with all that a view shows of them, in one statement, which sees one moment; transcripts only where $3 says so.
-- What hangs on one comes column by column, null where there is nothing; an aggregate keeps the order of the subquery that it reads.
-- `(select $1)` hides how many there are from the planner: by their number it would make another plan each time.
select k.place - 1 as place,
    c.user_id, c.conversation_id, c.created_at, c.updated_at, c.started_at, c.finished_at, c.language, c.source, c.status,
    c.title, c.overview, c.emoji, c.category, nullif(c.events, '[]') as events,
    nullif(c.apps_results, '[]') as apps_results, c.folder_id, c.starred, c.visibility, c.discarded, c.geolocation,
    c.finalization_revision,
    (select u.name from users u where u.user_id = c.user_id) as user_name,
    (select f.name from folders f where f.user_id = c.user_id and f.folder_id = c.folder_id) as folder_name,
    i.*, s.*, p.*
from unnest((select $1::text[]), (select $2::text[])) with ordinality as k (user_id, conversation_id, place)
join conversations c on c.user_id = k.user_id and c.conversation_id = k.conversation_id
cross join lateral (
    select array_agg(o.action_item_id) as item_ids, array_agg(o.description) as item_descriptions,
           array_agg(o.completed) as item_completed, array_agg(o.created_at) as item_created_at,
           array_agg(o.updated_at) as item_updated_at, array_agg(o.due_at) as item_due_at,
           array_agg(o.completed_at) as item_completed_at, array_agg(o.position) as item_positions
    from (select * from action_items a
          where a.user_id = c.user_id and a.conversation_id = c.conversation_id
          order by a.position, a.created_at, a.action_item_id) o) i
cross join lateral (
    select array_agg(o.segment_id) as segment_ids, array_agg(o.content) as contents, array_agg(o.speaker) as speakers,
           array_agg(o.speaker_id) as speaker_ids, array_agg(o.is_user) as by_user, array_agg(o.person_id) as person_ids,
           array_agg(o.start_seconds) as starts, array_agg(o.end_seconds) as ends
    from (select * from transcript_segments t
          where $3 and t.user_id = c.user_id and t.conversation_id = c.conversation_id
          order by t.position) o) s
-- Known people whom the transcript names, in the order of appearance.
cross join lateral (
    select array_agg(o.person_id) as known_ids, array_agg(o.name) as known_names
    from (select w.person_id, w.name
          from people w
          join (select t.person_id, min(t.position) as first
                from transcript_segments t
                where $3 and t.user_id = c.user_id and t.conversation_id = c.conversation_id and t.person_id is not null
                group by t.person_id) named using (person_id)
          where w.user_id = c.user_id
          order by named.first) o) p
