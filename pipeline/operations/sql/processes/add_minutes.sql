-- Adds what a process has done since it last said so to the minute that it is.
insert into service_minutes as m (minute, process_id, completed, failed, released, lost, lengths)
select date_trunc('minute', $1::timestamptz), $2, more[1], more[2], more[3], more[4], more[5:]
from (select $3::bigint[] as more) t
on conflict (minute, process_id) do update
set completed = m.completed + excluded.completed,
    failed = m.failed + excluded.failed,
    released = m.released + excluded.released,
    lost = m.lost + excluded.lost,
    lengths = (select array_agg(coalesce(a, 0) + coalesce(b, 0) order by n)
               from unnest(m.lengths, excluded.lengths) with ordinality t (a, b, n))
