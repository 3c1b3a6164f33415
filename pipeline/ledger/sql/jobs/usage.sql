select epoch, stage, engine, calls, prompt_tokens, cached_tokens, completion_tokens
from engine_usage
where user_id = $1 and job_id = $2
order by epoch, stage
