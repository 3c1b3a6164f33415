-- What an operator finds in the morning: of what was done, every job of these conversations becomes a dead letter of one
-- of five causes, as the edge would have left it; and an hour in which something was done.
with chosen as (
    select user_id, job_id, (array['model_unavailable', 'model_timeout', 'model_malformed', 'internal',
        'poison_crash'])[1 + row_number() over (order by created_at, job_id) % 5] as code
    from finalization_jobs where status = 'completed' and conversation_id in (
        select conversation_id from conversations order by created_at limit :dead)
), dead as (
    update finalization_jobs j set status = 'dead_letter', outcome = null, dead_code = code, last_code = code,
        attempts = case code when 'poison_crash' then 0 else 5 end,
        crashes = case code when 'poison_crash' then 5 else 0 end,
        history = (history - -1) || ((history -> -1) || jsonb_build_object('verb', 'fail', 'to', 'dead_letter',
            'code', code, 'stages', '["describe", 1240, "survey", 2210]'::jsonb))
    from chosen c where j.user_id = c.user_id and j.job_id = c.job_id
    returning j.user_id, j.conversation_id
)
update conversations c set status = 'failed' from dead d
    where c.user_id = d.user_id and c.conversation_id = d.conversation_id;

insert into service_minutes (minute, process_id, completed, failed, lengths)
    select date_trunc('minute', now()) - n * interval '1 minute', 'worker-7', 40 + round(18 * sin(n / 5.0)) + n % 7,
        case when n between 12 and 20 then 6 + n % 5 else n % 2 end,
        array[0, 0, 0, 4, 12, 20 + n % 9, 9, 4, 1 + n % 3, 0, 0, 0, 0, 0, 0]
    from generate_series(1, 58) n on conflict do nothing;
