-- All processes, the living ones first: those that were seen within $2 before $1.
select *, seen_at > $1::timestamptz - $2::interval as alive
from service_processes
order by seen_at > $1::timestamptz - $2::interval desc, process_id
limit 1000
