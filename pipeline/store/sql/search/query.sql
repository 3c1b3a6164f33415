-- A person's words as queries: all of them, and any of them. Where something is excluded, both are the same. Words are compared by
-- the language's rules or by their plain spelling; where that is the same, it is asked once: ranking takes as long as a query has words.
-- $1 the words, $2 the text search configuration of the person's language, $3 the words in their plain spelling
select words::text as all_words,
    case when words::text like '%!%' then words::text
         else replace(words::text, ' & ', ' | ') end as any_word
from (select case when q.by_language = q.plain then q.plain else q.by_language || q.plain end as words
      from (select websearch_to_tsquery($2::regconfig, $1) as by_language, websearch_to_tsquery('simple', $3) as plain) q) w
