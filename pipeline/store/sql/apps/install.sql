-- An install that was removed within the hour keeps what was sent in it.
insert into app_installs as i (user_id, app_id, owner_id, installed_at)
values ($1, $2, $3, $4)
on conflict (user_id, app_id) do update set owner_id = excluded.owner_id, removed_at = null,
    installed_at = case when i.removed_at is null then i.installed_at else excluded.installed_at end
