insert into dead_letter_totals as t (code, settled, stripe, jobs)
values ($1, $2, abs(hashtext($3) % 16)::smallint, $4)
on conflict (code, settled, stripe) do update
set jobs = t.jobs + excluded.jobs
