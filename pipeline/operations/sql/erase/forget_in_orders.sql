-- Takes the user's id out of the words that say which jobs an order for many was for. The id is quoted, and ends where its words end.
with words as materialized (
    select '(^|, )user ' || regexp_replace($1, '(\W)', '\\\1', 'g') || '(?=, (generation|newer than|older than|admitted since|admitted before) |: \d+ |$)' as of_user
)
update operator_actions
set detail = regexp_replace(detail, of_user, '\1a deleted user')
from words
where action in ('bulk_run_now', 'bulk_cancel', 'bulk_discard')
  and detail ~ of_user
