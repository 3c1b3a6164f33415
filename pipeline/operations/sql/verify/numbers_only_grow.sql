select j.job_id || ' at version ' || edges.version
from finalization_jobs j
cross join lateral (
    select version, epoch, generation, lag(version) over w as version_before, lag(epoch) over w as epoch_before,
        lag(generation) over w as generation_before
    from (
        select n, (event -> 'v')::bigint as version, (event -> 'epoch')::bigint as epoch,
            coalesce((event -> 'gen')::bigint, 1) as generation
        from jsonb_array_elements(j.history) with ordinality h (event, n)
    ) events
    window w as (order by n)
) edges
where edges.version <= edges.version_before
  or edges.epoch < edges.epoch_before
  or edges.generation < edges.generation_before
union all
select c.job_id || ' has a checkpoint of epoch ' || c.epoch || ', the job is at ' || j.epoch
from stage_checkpoints c
join finalization_jobs j using (user_id, job_id)
where c.epoch > j.epoch
