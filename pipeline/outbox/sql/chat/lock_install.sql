-- The install that an app writes to, locked: of messages at once, one after the other is counted.
select a.user_id as owner_id, a.name, a.chat_enabled, a.chat_target, a.chat_notify
from app_installs i join apps a on a.user_id = i.owner_id and a.app_id = i.app_id
where i.user_id = $1 and i.app_id = $2 and i.removed_at is null
    and a.switched_off_at is null and (a.visibility = 'public' or a.user_id = $1)
for no key update of i
