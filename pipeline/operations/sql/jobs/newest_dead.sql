select dead_code, count(*)
from (
    select dead_code, settled_at
    from finalization_jobs
    where status = 'dead_letter'
    order by created_at desc, job_id
    limit 1000
) newest
where settled_at is null
group by dead_code
