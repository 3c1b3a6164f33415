-- Locks the accounts of users, in the order of their ids; one that has none yet gets one.
insert into user_usage as g (user_id, day, conversations, bytes)
select k.user_id, (statement_timestamp() at time zone 'UTC')::date, 0, 0
from unnest($1::text[]) as k (user_id)
order by k.user_id
on conflict (user_id) do update set bytes = g.bytes
