-- The same for the words of bulk replays.
with words as materialized (
    select '(^|, )user ' || regexp_replace($1, '(\W)', '\\\1', 'g') || '(?=, (generation|newer than|older than|admitted since|admitted before) |$)' as of_user
)
update replay_operations
set filter = regexp_replace(filter, of_user, '\1a deleted user')
from words
where filter ~ of_user
