select coalesce(t.code, r.code) || case when settled then ', settled' else '' end
    || ': total ' || coalesce(t.jobs, 0) || ', counted ' || coalesce(r.jobs, 0)
from (select code, settled, sum(jobs) as jobs from dead_letter_totals group by 1, 2) t
full join (
    select dead_code as code, settled_at is not null as settled, count(*) as jobs
    from finalization_jobs
    where status = 'dead_letter'
    group by 1, 2
) r using (code, settled)
where coalesce(t.jobs, 0) <> coalesce(r.jobs, 0)
