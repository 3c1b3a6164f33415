-- How many live jobs a user has, counted up to $2.
select count(*)
from (
    select from finalization_jobs
    where user_id = $1 and finished_at is null
    limit $2
) live
