delete from stage_checkpoints
where user_id = $1 and job_id = $2
