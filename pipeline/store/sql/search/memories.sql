-- A user's memories with any of the words, of the newest 2,000; best first.
-- $1 user, $2 all words, $3 any word, $4 from, $5 until, $6 how many, $7 the text search configuration
with newest as materialized (
    select memory_id, content, created_at,
        to_tsvector($7::regconfig, content) as words
    from (select memory_id, content, created_at from memories
          where user_id = $1 order by created_at desc, memory_id limit 2000) m
)
select memory_id as id, content, created_at, words @@ $2::tsquery as is_complete, false as completed,
    null::timestamptz as due_at
from newest
where words @@ $3::tsquery
    and ($4::timestamptz is null or created_at >= $4)
    and ($5::timestamptz is null or created_at < $5)
order by is_complete desc, ts_rank(words, $3::tsquery) desc, created_at desc, memory_id
limit $6
