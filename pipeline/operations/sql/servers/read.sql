-- The reports of living processes.
select process_id, seen_at, servers
from service_processes
where servers is not null
  and not stopping
  and seen_at > $1::timestamptz - $2::interval
order by process_id
limit 1000
