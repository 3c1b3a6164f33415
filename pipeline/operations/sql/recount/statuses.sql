insert into finalization_totals as t (status, stripe, jobs)
select m.status, s.stripe, case s.stripe when 0 then m.jobs else 0 end
from (
    select status, sum(jobs) as jobs
    from (
        select status, -jobs as jobs
        from finalization_totals
        union all
        select status, 1
        from finalization_jobs
        where status in ('completed', 'dead_letter')
        union all
        select *
        from (values ('completed', 0), ('dead_letter', 0)) every
    ) d
    group by status
) m, generate_series(0, 15) s (stripe)
where s.stripe = 0
  and m.jobs <> 0
  or not exists (select from finalization_totals e where e.status = m.status and e.stripe = s.stripe)
on conflict (status, stripe) do update
set jobs = t.jobs + excluded.jobs
