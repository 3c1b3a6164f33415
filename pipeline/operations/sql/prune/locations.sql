-- A place is known for 30 minutes; afterwards it is forgotten, and not only ignored.
with old as (
    select user_id from user_locations where noted_at <= statement_timestamp() - interval '30 minutes'
    order by noted_at limit $1 for update skip locked)
delete from user_locations l using old where l.user_id = old.user_id
