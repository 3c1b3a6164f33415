-- At most $1 minutes behind the last two days: they are not read any more.
with doomed as (
    select minute, process_id
    from service_minutes
    where minute < statement_timestamp() - interval '2 days'
    order by minute
    limit $1
    for update skip locked
)
delete from service_minutes m
using doomed d
where m.minute = d.minute
  and m.process_id = d.process_id
