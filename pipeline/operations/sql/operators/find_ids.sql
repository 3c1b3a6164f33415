-- Ids that are $3, or begin or end with it where $4 is set, a job's also without its `fj_`; of one kind ($1) or all, of one
-- user ($2) or all. `within` is what a page about it needs besides: the newest job of a conversation, the endpoint of a delivery.
-- Planned for its arguments: branches of other kinds fall away, and a whole id is found through an index.
select kind, user_id, id, coalesce(within, '') as within
from (
    select 'job' as kind, user_id, job_id as id, null as within from finalization_jobs
    union all
    select 'conversation', user_id, conversation_id, (
        select j.job_id from finalization_jobs j
        where j.user_id = c.user_id and j.conversation_id = c.conversation_id
        order by j.revision desc limit 1)
    from conversations c
    union all
    select 'user', user_id, user_id, null from users
    union all
    select 'replay', '', operation_id, null from replay_operations
    union all
    select 'endpoint', user_id, endpoint_id, null from webhook_endpoints
    union all
    select 'delivery', user_id, delivery_id, endpoint_id from webhook_deliveries
    union all
    select 'app', user_id, app_id, null from apps
    union all
    select 'app_key', user_id, key_id, app_id from app_keys
    union all
    select 'key', user_id, key_id, null from developer_keys
    union all
    select 'folder', user_id, folder_id, null from folders
) found
where ($1::text is null or kind = $1)
    and ($2::text is null or user_id = $2)
    and (id = $3 or $4 and (starts_with(id, $3) or right(id, length($3)) = $3
        or kind = 'job' and starts_with(id, 'fj_' || $3)))
order by kind, id
limit $5
