with doomed as (
    select user_id, route, request_key
    from request_keys
    where created_at < $1
    order by created_at
    limit $2
    for update skip locked
)
delete from request_keys r
using doomed d
where r.user_id = d.user_id and r.route = d.route and r.request_key = d.request_key
