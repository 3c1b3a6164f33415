select j.job_id
from finalization_jobs j
where not exists (
    select from finalization_admissions a
    where a.user_id = j.user_id
      and a.conversation_id = j.conversation_id
      and a.revision = j.revision
      and a.job_id = j.job_id
)
