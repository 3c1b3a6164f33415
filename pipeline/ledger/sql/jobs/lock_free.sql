-- The jobs of leases, but for those that another transaction has locked.
select j.*
from finalization_jobs j
where j.user_id = any($1) and j.job_id = any($2)
order by j.user_id, j.job_id
for no key update skip locked
