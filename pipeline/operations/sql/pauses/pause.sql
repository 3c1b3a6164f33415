insert into queue_pauses (queue, operator, reason, paused_at)
values ($1, $2, $3, $4)
on conflict do nothing
