-- Writes the rows of newly admitted jobs.
insert into finalization_jobs
select r.*
from unnest($1::jsonb[]) as admitted (job)
cross join lateral jsonb_populate_record(null::finalization_jobs, admitted.job) as r
