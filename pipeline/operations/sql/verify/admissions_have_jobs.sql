select a.user_id || ' ' || a.conversation_id || ' revision ' || a.revision
from finalization_admissions a
where a.admitted_at > now() - interval '1 day'
  and not exists (select from finalization_jobs j where j.user_id = a.user_id and j.job_id = a.job_id)
