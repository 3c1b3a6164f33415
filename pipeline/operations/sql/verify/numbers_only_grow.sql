select job_id || ' at version ' || version
from (
    select job_id, n, (event -> 'v')::bigint as version, (event -> 'epoch')::bigint as epoch,
        coalesce((event -> 'gen')::bigint, 1) as generation,
        lag((event -> 'v')::bigint) over w as version_before,
        lag((event -> 'epoch')::bigint) over w as epoch_before,
        lag(coalesce((event -> 'gen')::bigint, 1)) over w as generation_before
    from finalization_jobs, jsonb_array_elements(history) with ordinality h (event, n)
    window w as (partition by user_id, job_id order by n)
) edges
where version <= version_before
  or epoch < epoch_before
  or generation < generation_before
union all
select c.job_id || ' has a checkpoint of epoch ' || c.epoch || ', the job is at ' || j.epoch
from stage_checkpoints c
join finalization_jobs j using (user_id, job_id)
where c.epoch > j.epoch
