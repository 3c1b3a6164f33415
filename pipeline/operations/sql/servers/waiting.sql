-- Queued jobs whose time has not come and whose last run was ended by a model server, counted to 1,000. The newest
-- entry of the history says so. Each scrape of each process asks: the first two conditions are those of the index of what is due.
select count(*)
from (
    select
    from finalization_jobs
    where queue in ('finalization', 'creation')
      and ready_at > '-infinity'
      and ready_at > $1
      and history -> -1 -> 'cause' ->> 'code' like 'model\_%'
    limit 1000
) waiting
