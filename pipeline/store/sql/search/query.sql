-- A person's words as queries: all of them, and any of them. Where something is excluded, both are the same.
-- $1 the words, $2 the text search configuration of the person's language
select words::text as all_words,
    case when words::text like '%!%' then words::text
         else replace(words::text, ' & ', ' | ') end as any_word
from (select websearch_to_tsquery($2::regconfig, $1) || websearch_to_tsquery('simple', $1) as words) q
