-- The sessions that another one waits for, in words; 0 stands for a prepared transaction.
select string_agg(
    case b.pid when 0 then 'a prepared transaction' else format('pid %s %s', b.pid, a.application_name) end, ', ' order by b.pid)
from unnest(pg_blocking_pids($1)) b(pid)
left join pg_stat_activity a on a.pid = b.pid
