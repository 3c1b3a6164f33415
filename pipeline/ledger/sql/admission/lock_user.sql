-- The user of an admission, locked against being marked meanwhile; none while the user is being deleted.
select requires_byok, first_epoch, language
from users
where user_id = $1
  and deleting_since is null
for share
