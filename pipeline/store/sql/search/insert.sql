-- Writes passages. Of texts that are never shown only the words are kept.
-- $1 users, $2 conversations, $3 parts, $4 moments, $5 texts, $6 text search configurations, $7 whether they are shown,
-- $8 the texts in their plain spelling
insert into search_entries (user_id, conversation_id, part, happened_at, content, words)
select t.user_id, t.conversation_id, t.part, t.happened_at, case when t.shown then t.content else '' end,
    to_tsvector(t.language::regconfig, t.content)
        || to_tsvector('simple', t.plain)
        || array_to_tsvector(array['u' || md5(t.user_id)])
from unnest($1::text[], $2::text[], $3::integer[], $4::timestamptz[], $5::text[], $6::text[], $7::boolean[], $8::text[])
    t (user_id, conversation_id, part, happened_at, content, language, shown, plain)
