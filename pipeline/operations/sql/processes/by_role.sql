-- How many processes with each role are alive: those that were seen within $2 before $1 and do not stop.
select role, count(*)
from service_processes
cross join unnest(roles) as role
where seen_at > $1::timestamptz - $2::interval
  and not stopping
group by role
