-- Everything that the stages of one run read, in one statement, which sees one moment. What hangs on the conversation comes column
-- by column, null where there is nothing; an aggregate keeps the order of the subquery that it reads.
select c.started_at, c.language, c.private_text, c.text_source, c.text_source_spec,
       c.external_data->'calendar_meeting_context' as meeting,
       u.name as user_name, u.time_zone, u.apps,
       s.*, i.*, m.*, f.*, p.*, a.*, h.*
from conversations c
join users u on u.user_id = c.user_id
cross join lateral (
    select array_agg(o.segment_id) as segment_ids, array_agg(o.content) as contents, array_agg(o.speaker) as speakers,
           array_agg(o.speaker_id) as speaker_ids, array_agg(o.is_user) as by_user, array_agg(o.person_id) as person_ids,
           array_agg(o.start_seconds) as starts, array_agg(o.end_seconds) as ends
    from (select * from transcript_segments t
          where t.user_id = $1 and t.conversation_id = $2
          order by t.position) o) s
cross join lateral (
    select array_agg(o.action_item_id) as item_ids, array_agg(o.description) as descriptions,
           array_agg(o.due_at) as items_due_at
    from (select * from action_items a
          where a.user_id = $1
            and a.created_at > statement_timestamp() - interval '2 days'
            and a.conversation_id is distinct from $2
          order by a.created_at desc, a.position, a.action_item_id
          limit 500) o) i
cross join lateral (
    select array_agg(o.content) as memories
    from (select e.content from memories e
          where e.user_id = $1 and e.conversation_id is distinct from $2
          order by e.created_at desc, e.memory_id
          limit 1000) o) m
cross join lateral (
    select array_agg(o.folder_id) as folder_ids, array_agg(o.name) as folder_names,
           array_agg(o.description) as folder_descriptions
    from (select * from folders d where d.user_id = $1 order by d.position, d.folder_id) o) f
cross join lateral (
    select array_agg(o.person_id) as known_ids, array_agg(o.name) as known_names
    from (select * from people w
          where w.user_id = $1
            and w.person_id in (select t.person_id from transcript_segments t
                                where t.user_id = $1 and t.conversation_id = $2)
          order by w.person_id) o) p
cross join lateral (
    select array_agg(o.app_id) as prompt_app_ids, array_agg(o.summary_prompt) as prompts
    from (select i.app_id, b.summary_prompt
          from app_installs i join apps b on b.user_id = i.owner_id and b.app_id = i.app_id
          where i.user_id = $1 and i.removed_at is null and b.summary_prompt is not null
            and b.switched_off_at is null and (b.visibility = 'public' or b.user_id = $1)
          order by i.installed_at, i.app_id) o) a
cross join lateral (
    select array_agg(o.description) as pictures
    from (select g.description from photos g
          where g.user_id = $1 and g.conversation_id = $2 and g.description is not null
          order by g.created_at, g.photo_id
          limit 20) o) h
where c.user_id = $1
  and c.conversation_id = $2
