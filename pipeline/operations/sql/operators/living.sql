-- How many processes are alive, and their slots.
select count(*) as processes, coalesce(sum(finalization_slots), 0) as finalization_slots,
    coalesce(sum(creation_slots), 0) as creation_slots
from service_processes
where seen_at > $1::timestamptz - $2::interval
  and not stopping
