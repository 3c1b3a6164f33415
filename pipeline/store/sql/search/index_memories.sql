-- Stores the words of memories, unless their user's language was changed meanwhile: they are due again then.
-- $1 users, $2 memories, $3 languages, $4 text search configurations, $5 texts in their plain spelling
update memories m
set words = to_tsvector(t.configuration, m.content) || to_tsvector('simple', t.plain)
    || array_to_tsvector(array['u' || md5(m.user_id)])
from unnest($1::text[], $2::text[], $3::text[], $4::text[]::regconfig[], $5::text[]) t (user_id, memory_id, language, configuration, plain)
    join users u on u.user_id = t.user_id and u.language = t.language
where m.user_id = t.user_id and m.memory_id = t.memory_id
