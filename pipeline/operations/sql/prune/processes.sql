-- At most $1 processes that were not seen for a day: they are not read any more.
with doomed as (
    select process_id
    from service_processes
    where seen_at < statement_timestamp() - interval '1 day'
    limit $1
    for update skip locked
)
delete from service_processes p
using doomed d
where p.process_id = d.process_id
