-- Writes what a run has spent, and a stage's output ($4: the stage; null: none), while the run's claim is the newest and
-- leased. Where the output is there already it stays, unless $8 asks to replace it.
with fence as (
    -- Locked, so that no other claim comes in between.
    select user_id, job_id
    from finalization_jobs
    where user_id = $1 and job_id = $2 and status = 'leased' and epoch = $3
    for share),
kept as (
    insert into stage_checkpoints (user_id, job_id, stage, version, digest, output, epoch)
    select user_id, job_id, $4, $5, $6, $7, $3
    from fence
    where $4::text is not null
    on conflict on constraint stage_checkpoints_pkey do update
    set output = excluded.output, epoch = excluded.epoch
    where $8),
spent as (
    insert into engine_usage as u (user_id, job_id, epoch, stage, engine, calls, prompt_tokens, cached_tokens,
        completion_tokens)
    select f.user_id, f.job_id, $3, t.stage, t.engine, t.calls, t.prompt, t.cached, t.completion
    from fence f,
        unnest($9::text[], $10::text[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[])
            t (stage, engine, calls, prompt, cached, completion)
    -- Counts of a run never go down, so that a repeat changes nothing.
    on conflict on constraint engine_usage_pkey do update
    set calls = greatest(u.calls, excluded.calls),
        prompt_tokens = greatest(u.prompt_tokens, excluded.prompt_tokens),
        cached_tokens = greatest(u.cached_tokens, excluded.cached_tokens),
        completion_tokens = greatest(u.completion_tokens, excluded.completion_tokens))
select count(*) from fence
