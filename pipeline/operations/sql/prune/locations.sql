-- A place is known for 30 minutes; afterwards it is forgotten, and not only ignored. So is one that was noted before the clock was set
-- back: none would take its place until the clock comes there again.
with old as (
    select user_id from user_locations where noted_at <= statement_timestamp() - interval '30 minutes'
    order by noted_at limit $1 for update skip locked),
ahead as (
    select user_id from user_locations where noted_at > statement_timestamp() + interval '1 minute'
    order by noted_at limit $1 for update skip locked),
doomed as (select user_id from old union all select user_id from ahead)
delete from user_locations l using doomed d where l.user_id = d.user_id
