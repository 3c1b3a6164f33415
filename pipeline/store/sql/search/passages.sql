-- The best passages of a user's conversations, one of each conversation: first those with all words, then those with any.
-- Only the newest matches are ranked, because ranking reads every one of them. Where most passages match, the planner reads the
-- newest in their order until there are enough (search_entries_newest), and asks the index of words for rare ones.
-- What is discarded has passages only until it is next indexed.
-- $1 user, $2 all words, $3 any word, $4 from, $5 until, $6 how many
with complete as materialized (
    select conversation_id, part, happened_at, content, words from search_entries
    where user_id = $1
        and words @@ (('u' || md5($1))::tsquery && $2::tsquery)
        and ($4::timestamptz is null or happened_at >= $4)
        and ($5::timestamptz is null or happened_at < $5)
    order by happened_at desc limit 400
), partial as materialized (
    select conversation_id, part, happened_at, content, words from search_entries
    where user_id = $1
        and words @@ (('u' || md5($1))::tsquery && $3::tsquery)
        and ($4::timestamptz is null or happened_at >= $4)
        and ($5::timestamptz is null or happened_at < $5)
    order by happened_at desc
    -- None where there are enough with all words, or where those with any are the same, as of a single phrase.
    limit (case when $2 <> $3 and (select count(distinct conversation_id) from complete) < $6 then 200 else 0 end)
), found as (
    select conversation_id, part, happened_at, content, true as is_complete, ts_rank_cd(words, $2::tsquery) as rank
    from complete
    union all
    select conversation_id, part, happened_at, content, false, ts_rank(words, $3::tsquery) from partial
), best as (
    select distinct on (conversation_id) * from found
    order by conversation_id, is_complete desc, rank desc, part
)
select b.conversation_id as id, c.title, case b.content when '' then c.overview else b.content end as text, c.started_at as at,
    b.is_complete, false as completed, null::timestamptz as due_at
from best b
    join conversations c on c.user_id = $1 and c.conversation_id = b.conversation_id
where c.status = 'completed' and not c.discarded
order by b.is_complete desc, b.rank desc, b.happened_at desc, b.conversation_id
limit $6
