//! Rules over the tables at the end of the run.

use super::Rule;

pub(super) const RULES: &[Rule] = &[
    (
        "every admitted revision has its job",
        "select format('%s r%s of %s', conversation_id, revision, user_id) from finalization_admissions a \
         where not exists (select from finalization_jobs j where j.user_id = a.user_id and j.job_id = a.job_id \
             and j.revision = a.revision)",
    ),
    (
        "revisions are numbered without a gap",
        "select format('%s of %s: %s revisions, the conversation says %s', conversation_id, c.user_id, n, c.finalization_revision) \
         from conversations c join (select user_id, conversation_id, count(*) n, max(revision) m \
             from finalization_admissions group by 1, 2) a using (user_id, conversation_id) \
         where n <> m or m <> c.finalization_revision",
    ),
    (
        "a job is terminal or checked in time",
        "select format('%s is %s, the next look was due at %s', job_id, status, reconcile_after_at) from finalization_jobs \
         where status not in ('completed', 'dead_letter') \
             and (reconcile_after_at is null or reconcile_after_at < clock_timestamp() - interval '60 seconds')",
    ),
    (
        "a conversation has one live job at most",
        "select format('%s of %s: %s live jobs', conversation_id, user_id, count(*)) from finalization_jobs \
         where status in ('queued', 'leased', 'blocked_byok') group by user_id, conversation_id having count(*) > 1",
    ),
    (
        "conversation and job agree",
        "select format('%s of %s is %s, its job %s is %s (%s)', c.conversation_id, c.user_id, c.status, j.job_id, j.status, \
             j.outcome) from conversations c left join finalization_jobs j on j.user_id = c.user_id \
             and j.conversation_id = c.conversation_id and j.revision = c.finalization_revision \
         where c.status <> case j.status when 'completed' then case j.outcome when 'withdrawn' then 'gone' else 'completed' end \
             when 'dead_letter' then 'failed' when 'queued' then 'processing' when 'leased' then 'processing' \
             when 'blocked_byok' then 'processing' else 'in_progress' end \
             and not (j.origin = 'reprocess' and c.status = 'completed' and exists (select from finalization_jobs b \
                 where b.user_id = c.user_id and b.conversation_id = c.conversation_id and b.revision < j.revision \
                     and b.status = 'completed'))",
    ),
    (
        "a job of a conversation that is gone is at rest",
        "select format('%s is %s', j.job_id, j.status) from finalization_jobs j where j.status not in ('completed', 'dead_letter') \
             and not exists (select from conversations c where c.user_id = j.user_id and c.conversation_id = j.conversation_id)",
    ),
    (
        "the totals are those of the table",
        "select format('%s: %s counted, %s there', t.status, t.n, coalesce(j.n, 0)) \
         from (select status, sum(jobs) n from finalization_totals group by 1) t \
         left join (select status, count(*) n from finalization_jobs group by 1) j using (status) \
         where t.n <> coalesce(j.n, 0)",
    ),
    (
        "a job's id is that of its admission",
        "select format('%s r%s: %s jobs', conversation_id, revision, count(*)) from finalization_jobs \
         group by user_id, conversation_id, revision having count(*) > 1",
    ),
    (
        "a parked person's jobs are parked or at rest",
        "select format('%s is %s', job_id, status) from finalization_jobs j join users u using (user_id) \
         where u.requires_byok and j.status in ('queued', 'leased')",
    ),
    (
        "the checker had something to check",
        "select 'no job was completed' where not exists (select from finalization_jobs where status = 'completed') \
         union all select 'no post came' where not exists (select from chaos.posts) \
         union all select 'the model was not asked' where not exists (select from chaos.calls) \
         union all select 'the history is empty' where not exists (select from chaos.history)",
    ),
];
