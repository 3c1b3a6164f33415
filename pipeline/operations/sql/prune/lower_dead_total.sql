-- $4 dead letters of a code are gone.
insert into dead_letter_totals as t (code, settled, stripe, jobs)
values ($1, $2, $3, -$4::bigint)
on conflict (code, settled, stripe) do update
set jobs = t.jobs + excluded.jobs
