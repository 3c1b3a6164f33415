-- Counts what became of the jobs that were replayed, and with $3 of those that were parked since; says how many still run. A list
-- may be long, and this is done for each of its items: what runs has an index of its own.
with items as (
    select position, user_id, job_id, status
    from replay_items
    where operation_id = $1 and status = 'replayed'
    union all
    select position, user_id, job_id, status
    from replay_items
    where $3 and operation_id = $1 and status = 'parked'
),
followed as (
    select i.position, i.status as was, coalesce(j.status, 'completed') as status, j.dead_code
    from items i
    left join finalization_jobs j using (user_id, job_id)
),
rested as (
    update replay_items i
    set changed_at = $2,
        result = f.dead_code,
        status = case f.status
            when 'completed' then 'completed'
            when 'dead_letter' then 'died_again'
            else 'parked'
        end
    from followed f
    where i.operation_id = $1
      and i.position = f.position
      and f.status not in ('queued', 'leased')
      and (f.was, f.status) <> ('parked', 'blocked_byok')
    returning i.status, f.was
),
counted as (
    update replay_operations
    set updated_at = $2,
        completed = completed + (select count(*) from rested where status = 'completed'),
        died_again = died_again + (select count(*) from rested where status = 'died_again'),
        parked = parked + (select count(*) from rested where status = 'parked') - (
            select count(*) from rested where was = 'parked'
        )
    where operation_id = $1
      and exists (select from rested)
)
select count(*)
from followed
where was = 'replayed' and status in ('queued', 'leased')
