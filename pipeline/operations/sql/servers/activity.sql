-- How many sessions of this database do what.
select case
           when wait_event_type = 'Lock' then 'waiting'
           when state like 'idle in transaction%' then 'idle_in_transaction'
           when state = 'idle' then 'idle'
           else 'active'
       end as doing,
       count(*)
from pg_stat_activity
where datname = current_database()
  and backend_type = 'client backend'
group by doing
