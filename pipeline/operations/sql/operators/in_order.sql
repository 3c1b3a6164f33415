-- The ids $1 in the database's own order of texts: lists of users are merged by it.
select ids.id
from unnest($1::text[]) as ids (id)
order by ids.id
