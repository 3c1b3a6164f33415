-- A user's action items by state, due date and words: the open ones first, those that are due next before those that have no date.
-- Of those with any of the words the newest $10 are looked at; what is not indexed yet is compared as it is.
-- $1 user, $2 completed, $3 due from, $4 due until, $5 completed from, $6 completed until, $7 any word, $8 the text search
-- configuration, $9 how many, $10 how many are compared
with worded as materialized (
    (select action_item_id from action_items
     where user_id = $1 and words @@ (('u' || md5($1))::tsquery && $7::tsquery)
     order by created_at desc limit $10)
    union all
    (select action_item_id from action_items
     where user_id = $1 and words is null and to_tsvector($8::regconfig, description) @@ $7::tsquery
     order by created_at desc limit $10)
)
select action_item_id, description, completed, created_at, updated_at, due_at, completed_at, conversation_id, position
from action_items
where user_id = $1
    and ($2::boolean is null or completed = $2)
    and ($3::timestamptz is null or due_at >= $3)
    and ($4::timestamptz is null or due_at < $4)
    and ($5::timestamptz is null or completed_at >= $5)
    and ($6::timestamptz is null or completed_at < $6)
    and ($7::text is null or action_item_id in (select action_item_id from worded))
order by completed, due_at nulls last, coalesce(completed_at, created_at) desc, position, action_item_id
limit $9
