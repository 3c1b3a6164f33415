-- The best passages of a user's conversations, one of each conversation: first those with all words, then those with any.
-- Only the newest matches are ranked, because ranking reads every one of them. Words that stand almost everywhere are found in the
-- newest passages at once; only where those hold too few, the index of words is asked, which reads every passage that has them
-- (`offset 0`: no other index).
-- $1 user, $2 all words, $3 any word, $4 from, $5 until, $6 how many
with complete_at_once as materialized (
    select conversation_id, part, happened_at, content, words
    from (select conversation_id, part, happened_at, content, words from search_entries
          where user_id = $1
              and ($4::timestamptz is null or happened_at >= $4)
              and ($5::timestamptz is null or happened_at < $5)
          order by happened_at desc limit 2000) newest
    where words @@ $2::tsquery
    limit 400
), complete as materialized (
    select * from complete_at_once where (select count(*) from complete_at_once) = 400
    union all
    (select conversation_id, part, happened_at, content, words
    from (select conversation_id, part, happened_at, content, words from search_entries
          where user_id = $1
              and words @@ (('u' || md5($1))::tsquery && $2::tsquery)
              and ($4::timestamptz is null or happened_at >= $4)
              and ($5::timestamptz is null or happened_at < $5)
          offset 0) indexed
    order by happened_at desc
    limit (case when (select count(*) from complete_at_once) = 400 then 0 else 400 end))
), wanted as materialized (
    -- Of passages with any word none where there are enough with all, or where they are the same, as of a single phrase.
    select case when $2 <> $3 and (select count(distinct conversation_id) from complete) < $6 then 200 else 0 end as passages
), partial_at_once as materialized (
    select conversation_id, part, happened_at, content, words
    from (select conversation_id, part, happened_at, content, words from search_entries
          where user_id = $1
              and ($4::timestamptz is null or happened_at >= $4)
              and ($5::timestamptz is null or happened_at < $5)
          order by happened_at desc limit (select 10 * passages from wanted)) newest
    where words @@ $3::tsquery
    limit (select passages from wanted)
), partial as materialized (
    select * from partial_at_once where (select count(*) from partial_at_once) = (select passages from wanted)
    union all
    (select conversation_id, part, happened_at, content, words
    from (select conversation_id, part, happened_at, content, words from search_entries
          where user_id = $1
              and words @@ (('u' || md5($1))::tsquery && $3::tsquery)
              and ($4::timestamptz is null or happened_at >= $4)
              and ($5::timestamptz is null or happened_at < $5)
          offset 0) indexed
    order by happened_at desc
    limit (select case when (select count(*) from partial_at_once) = passages then 0 else passages end from wanted))
), found as (
    select conversation_id, part, happened_at, content, true as is_complete, ts_rank_cd(words, $2::tsquery) as rank
    from complete
    union all
    select conversation_id, part, happened_at, content, false, ts_rank(words, $3::tsquery) from partial
), best as (
    select distinct on (conversation_id) * from found
    order by conversation_id, is_complete desc, rank desc, part
)
select b.conversation_id, case b.content when '' then c.overview else b.content end as content, b.is_complete, c.title, c.started_at
from best b
    join conversations c on c.user_id = $1 and c.conversation_id = b.conversation_id
where c.status = 'completed' and not c.discarded
order by b.is_complete desc, b.rank desc, b.happened_at desc, b.conversation_id
limit $6
