-- Webhooks of apps that are gone, take no conversations any more, are switched off, or are another user's private app.
with orphaned as (
    select e.user_id, e.endpoint_id
    from webhook_endpoints e left join apps a on a.app_id = e.app_id
    where e.app_id is not null and ($1::text is null or e.app_id = $1)
        and (a.app_id is null or a.webhook_url is null or a.switched_off_at is not null
            or (a.visibility = 'private' and a.user_id <> e.user_id))
    order by e.user_id, e.endpoint_id limit $2
    for update of e skip locked)
delete from webhook_endpoints e using orphaned o where e.user_id = o.user_id and e.endpoint_id = o.endpoint_id
