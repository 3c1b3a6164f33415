with living as (
    select *
    from service_processes
    where seen_at > $1::timestamptz - $2::interval
      and not stopping
      and (process_id is distinct from $4 or seen_at >= $8)
)
select
    (select operator from queue_pauses where queue = $3) as paused_by,
    (select paused_at from queue_pauses where queue = $3) as paused_at,
    (select count(*) from living) as living,
    (
        select coalesce(sum(case $3 when 'creation' then creation_slots else finalization_slots end), 0)
        from living
    ) as slots,
    (
        select count(*)
        from finalization_jobs
        where status = 'leased'
          and reconcile_after_at > $1
          and queue = $3
          and lease_worker not like '%/keyed'
    ) as busy,
    (
        select handed_at
        from finalization_jobs
        where user_id = $5 and job_id = $9 and handed_dispatch = dispatch
    ) as handed_at,
    (select coalesce(hand_tries, 0) from finalization_jobs where user_id = $5 and job_id = $9) as hand_tries,
    (select seen_at from service_processes where process_id = $4) as holder_seen_at,
    exists (select from service_processes where process_id = $4 and stopping) as holder_stopping,
    exists (
        select from finalization_admissions
        where user_id = $5 and conversation_id = $6 and revision > $7
    ) as superseded,
    not exists (select from conversations where user_id = $5 and conversation_id = $6) as gone,
    exists (select from users where user_id = $5 and requires_byok) as user_requires_keys
