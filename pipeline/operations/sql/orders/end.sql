-- What an order for many jobs came to, in place of what it found. The words before it stay as they are: an erasure may have changed them.
update operator_actions
set detail = regexp_replace(detail, ': \d+ found$', ': ' || $3)
where user_id = ''
  and action = $1
  and subject = $2
