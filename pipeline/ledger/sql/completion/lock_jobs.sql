-- The jobs of a batch, locked in key order. Skips jobs that another transaction has locked.
select statement_timestamp() as now, j.*
from finalization_jobs j
where j.job_id = any ($1)
order by j.user_id, j.job_id
for no key update of j skip locked
