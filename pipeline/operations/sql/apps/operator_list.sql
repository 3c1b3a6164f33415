-- Apps as operators see them: of one user or of all, newest first, from a place on, with how many users installed each. The installs of a
-- page are counted together: no index has them by their app.
with listed as materialized (
    select app_id, user_id, name, visibility, home_url, manifest_url, webhook_url, manifest, manifest_fetched_at, failing_since,
        switched_off_at, switched_off_reason, created_at
    from apps
    where ($1::text is null or user_id = $1) and ($2::text is null or app_id = $2)
        and ($4::timestamptz is null or created_at < $4 or (created_at = $4 and app_id > $5))
    order by created_at desc, app_id
    limit $3
),
installed as (
    select app_id, count(*) as installs
    from app_installs
    where removed_at is null and app_id in (select app_id from listed)
    group by app_id
)
select l.*, coalesce(i.installs, 0) as installs
from listed l
left join installed i using (app_id)
order by l.created_at desc, l.app_id
