-- What ended in each of 60 equal steps until $1, a step of $2: runs, and how many were how long. Steps in which
-- nothing ended are there too. Minutes are kept for two days.
with steps as (
    select step
    from generate_series(
        date_bin($2, $1, timestamptz '2000-01-01') - 59 * $2, date_bin($2, $1, timestamptz '2000-01-01'), $2) step
), minutes as materialized (
    select date_bin($2, minute, timestamptz '2000-01-01') as step, completed, failed, lengths
    from service_minutes
    where minute >= date_bin($2, $1, timestamptz '2000-01-01') - 59 * $2
), lengths as (
    select step, array_agg(runs order by n) as lengths
    from (
        select m.step, n, sum(length)::bigint as runs
        from minutes m, unnest(m.lengths) with ordinality l (length, n)
        group by m.step, n
    ) counted
    group by step
)
select s.step as minute, coalesce(sum(m.completed), 0)::bigint as completed, coalesce(sum(m.failed), 0)::bigint as failed,
    coalesce((select l.lengths from lengths l where l.step = s.step), '{}') as lengths
from steps s
left join minutes m on m.step = s.step
group by s.step
order by s.step
