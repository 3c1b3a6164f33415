-- Those dead letters of a page that were superseded, or whose conversation is gone.
select j.user_id, j.job_id
from finalization_jobs j
-- Each as it was when its page was read: one that has changed since is no match.
join unnest($1::timestamptz[], $2::text[], $3::text[]) k (finished_at, user_id, job_id)
    using (user_id, job_id, finished_at)
where exists (
        select from finalization_admissions a
        where a.user_id = j.user_id and a.conversation_id = j.conversation_id and a.revision > j.revision)
   or not exists (
        select from conversations c
        where c.user_id = j.user_id and c.conversation_id = j.conversation_id)
for update of j skip locked
