-- Apps as operators see them: of one user or of all, newest first, from a place on, with how many users installed each.
select a.app_id, a.user_id, a.name, a.visibility, a.home_url, a.manifest_url, a.webhook_url, a.manifest,
    a.manifest_fetched_at, a.failing_since, a.switched_off_at, a.switched_off_reason, a.created_at,
    (select count(*) from app_installs i where i.app_id = a.app_id and i.removed_at is null) as installs
from apps a
where ($1::text is null or a.user_id = $1) and ($2::text is null or a.app_id = $2)
    and ($4::timestamptz is null or a.created_at < $4 or (a.created_at = $4 and a.app_id > $5))
order by a.created_at desc, a.app_id limit $3
