insert into operator_actions (user_id, action_id, subject, action, operator, reason, created_at)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict do nothing
