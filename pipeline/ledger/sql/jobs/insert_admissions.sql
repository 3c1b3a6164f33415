-- The admission record outlives the job's retention, so that a revision is never admitted twice.
insert into finalization_admissions (user_id, conversation_id, revision, job_id, admitted_at)
select r.user_id, r.conversation_id, r.revision, r.job_id, r.admitted_at
from unnest($1::jsonb[]) as admitted (job)
cross join lateral jsonb_populate_record(null::finalization_jobs, admitted.job) as r
