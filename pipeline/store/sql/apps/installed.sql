-- The apps that a user installed and may use: they are there, not switched off, and public or the user's own.
select a.app_id, a.user_id, a.name, a.manifest, a.setup_url, a.secret, a.mcp_token, a.summary_prompt,
    clock_timestamp() as now
from app_installs i
join apps a on a.user_id = i.owner_id and a.app_id = i.app_id
where i.user_id = $1 and i.removed_at is null and ($2::text is null or i.app_id = $2)
    and a.switched_off_at is null and (a.visibility = 'public' or a.user_id = $1)
order by i.installed_at, i.app_id
