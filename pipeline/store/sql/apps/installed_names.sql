-- The names of the apps that a user installed and may use, as installed.sql has them: without what calling them needs.
select a.app_id, a.name
from app_installs i
join apps a on a.user_id = i.owner_id and a.app_id = i.app_id
where i.user_id = $1 and i.removed_at is null
    and a.switched_off_at is null and (a.visibility = 'public' or a.user_id = $1)
order by i.installed_at, i.app_id
