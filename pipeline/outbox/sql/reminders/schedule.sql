-- Gives each item $3 the reminder of its last due time in $4, under its next revision; one that is past at $2 does not fire.
insert into reminders (user_id, action_item_id, revision, due_at, fire_at)
select distinct on (t.item)
    $1,
    t.item,
    1,
    t.due_at,
    case when t.due_at > $2 then t.due_at end
from unnest($3::text[], $4::timestamptz[]) with ordinality t (item, due_at, place)
order by t.item, t.place desc
on conflict (user_id, action_item_id) do update
set revision = reminders.revision + 1,
    due_at = excluded.due_at,
    fire_at = excluded.fire_at
returning action_item_id, revision, due_at
