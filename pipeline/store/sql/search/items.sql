-- A user's action items with any of the words, the newest $8 of them; best first. What is not indexed yet is compared as it is.
-- $1 user, $2 all words, $3 any word, $4 from, $5 until, $6 how many, $7 the text search configuration, $8 how many are compared
with indexed as materialized (
    select action_item_id, description, created_at, completed, due_at, words from action_items
    where user_id = $1
        and words @@ (('u' || md5($1))::tsquery && $3::tsquery)
        and ($4::timestamptz is null or created_at >= $4)
        and ($5::timestamptz is null or created_at < $5)
    order by created_at desc limit $8
), fresh as materialized (
    select action_item_id, description, created_at, completed, due_at, to_tsvector($7::regconfig, description) as words
    from action_items
    where user_id = $1
        and words is null
        and ($4::timestamptz is null or created_at >= $4)
        and ($5::timestamptz is null or created_at < $5)
    order by created_at desc limit $8
), found as (
    select * from indexed
    union all
    select * from fresh where words @@ $3::tsquery
)
select action_item_id as id, '' as title, description as text, created_at as at, words @@ $2::tsquery as is_complete,
    completed, due_at
from found
order by is_complete desc, ts_rank(words, $3::tsquery) desc, created_at desc, action_item_id
limit $6
