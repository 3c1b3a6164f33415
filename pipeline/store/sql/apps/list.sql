-- Apps that a user sees: their own and public ones, newest first, with whether they installed them.
select a.app_id, a.user_id, a.name, a.description, a.visibility, a.home_url, a.manifest_url, a.webhook_url, a.setup_url,
    a.setup_completed_url, a.summary_prompt, a.mcp_url, a.manifest, a.manifest_fetched_at, a.version, a.failing_since,
    a.switched_off_at, a.switched_off_reason, a.created_at, a.updated_at, i.app_id is not null as installed
from apps a
left join app_installs i on i.user_id = $1 and i.app_id = a.app_id and i.removed_at is null
where (a.user_id = $1 or a.visibility = 'public')
    and ($2::text is null or a.app_id = $2)
    and ($3::boolean is null or (i.app_id is not null) = $3)
    and ($4::boolean is null or (a.user_id = $1) = $4)
order by a.created_at desc, a.app_id
limit $5 offset $6
