-- At most $2 operator actions from before $1.
with doomed as (
    select user_id, action_id
    from operator_actions
    where created_at < $1
    order by created_at
    limit $2
    for update skip locked
)
delete from operator_actions a
using doomed d
where a.user_id = d.user_id
  and a.action_id = d.action_id
