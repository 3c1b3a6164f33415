-- How many processes are alive, and their slots.
select count(*), coalesce(sum(finalization_slots), 0), coalesce(sum(creation_slots), 0)
from service_processes
where seen_at > $1::timestamptz - $2::interval
  and not stopping
