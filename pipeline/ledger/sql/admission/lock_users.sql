-- The users of a batch, locked against being marked or deleted meanwhile. A user that another transaction changes is skipped.
select user_id, requires_byok, first_epoch, language, limit_waiting_jobs
from users
where user_id = any ($1)
  and deleting_since is null
order by user_id
for share skip locked
