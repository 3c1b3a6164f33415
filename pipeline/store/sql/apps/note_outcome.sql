-- Since when the app's server has not answered; written only where it changes.
update apps set failing_since = said.since
from (select case when $3 then statement_timestamp() end as since) said
where user_id = $1 and app_id = $2 and (failing_since is null) = $3
