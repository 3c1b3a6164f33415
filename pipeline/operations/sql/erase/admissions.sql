-- Removes the admissions of jobs that are about to be removed with their user, who may be created again under this id:
-- then the epochs of jobs of the same ids begin above those of these.
with doomed as materialized (
    select user_id, conversation_id, revision, epoch
    from finalization_jobs
    where user_id = $1 and job_id = any($2)),
admissions as (
    delete from finalization_admissions a
    using doomed d
    where a.user_id = d.user_id and a.conversation_id = d.conversation_id and a.revision = d.revision)
update epoch_floor
set epoch = greatest(epoch, (select max(epoch) + 1 from doomed))
where exists (select from doomed)
