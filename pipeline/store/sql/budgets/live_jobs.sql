-- How many live jobs a user has, counted up to $2.
select count(*)
from (
    select from finalization_jobs
    where user_id = $1 and status in ('queued', 'leased', 'blocked_byok')
    limit $2
) live
