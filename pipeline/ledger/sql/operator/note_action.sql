insert into operator_actions (
    user_id, action_id, job_id, action, operator, reason, from_status, from_code, from_generation,
    to_generation, created_at, subject
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
