-- Stores the words of action items, unless their user's language was changed meanwhile: they are due again then.
-- $1 users, $2 action items, $3 languages, $4 text search configurations, $5 texts in their plain spelling
update action_items a
set words = to_tsvector(t.configuration, a.description) || to_tsvector('simple', t.plain)
    || array_to_tsvector(array['u' || md5(a.user_id)])
from unnest($1::text[], $2::text[], $3::text[], $4::text[]::regconfig[], $5::text[]) t (user_id, action_item_id, language, configuration, plain)
    join users u on u.user_id = t.user_id and u.language = t.language
where a.user_id = t.user_id and a.action_item_id = t.action_item_id
