//! Rules over the history of jobs, ordered by row version.

use super::Rule;

/// `p` is a version of a job, `h` the one after it.
macro_rules! steps {
    ($condition:literal) => {
        concat!(
            "with steps as (select h.*, lag(version) over w p_version, lag(epoch) over w p_epoch, \
                 lag(generation) over w p_generation, lag(dispatch) over w p_dispatch, lag(status) over w p_status, \
                 lag(worker) over w p_worker, lag(lease_expires_at) over w p_expires, lag(attempts) over w p_attempts, \
                 lag(crashes) over w p_crashes, lag(requires_keys) over w p_keys, lag(outcome) over w p_outcome \
             from chaos.history h where op <> 'DELETE' window w as (partition by job_id order by version, seq)) \
             select format('%s v%s: %s e%s g%s d%s %s -> %s e%s g%s d%s %s by %s at %s', job_id, version, p_status, \
                 p_epoch, p_generation, p_dispatch, p_worker, status, epoch, generation, dispatch, worker, writer, at) \
             from steps where p_version is not null and (",
            $condition,
            ") order by seq"
        )
    };
}

pub(super) const RULES: &[Rule] = &[
    ("a version follows the one before it", steps!("version <> p_version + 1")),
    (
        "epochs, generations and dispatches never go back",
        steps!("epoch < p_epoch or generation < p_generation or dispatch < p_dispatch"),
    ),
    ("an epoch is raised one at a time", steps!("epoch > p_epoch + 1")),
    (
        "an epoch is raised by a claim or a withdrawal alone",
        steps!("epoch > p_epoch and not (status = 'leased' or outcome = 'withdrawn')"),
    ),
    (
        "a lease has an epoch of its own",
        steps!("status = 'leased' and p_status <> 'leased' and epoch = p_epoch"),
    ),
    (
        "no lease is taken over before it expires",
        steps!(
            "p_status = 'leased' and at < p_expires and (crashes > p_crashes or (status = 'leased' and epoch > p_epoch))"
        ),
    ),
    (
        "a lease is never shortened",
        steps!(
            "p_status = 'leased' and status = 'leased' and epoch = p_epoch and lease_expires_at < p_expires"
        ),
    ),
    (
        "what a run writes is written by the process that holds its lease",
        steps!(
            "p_status = 'leased' and crashes = p_crashes and requires_keys = p_keys and (\
                 (status = 'leased' and epoch = p_epoch and lease_expires_at <> p_expires) \
                 or (status = 'completed' and outcome <> 'withdrawn') or attempts > p_attempts \
                 or (status = 'queued' and generation = p_generation)) \
             and not exists (select from chaos.ran r where r.name = writer and p_worker like '%:' || r.pid || '-%')"
        ),
    ),
    ("a completed job never moves", steps!("p_status = 'completed' and status <> 'completed'")),
    (
        "a revision is completed once",
        "select format('%s completed %s times', job_id, count(*)) from (select h.*, lag(status) over \
             (partition by job_id order by version, seq) p_status from chaos.history h) h \
         where status = 'completed' and p_status is distinct from 'completed' group by job_id having count(*) > 1",
    ),
    (
        "a dead letter comes back by an operator, or by the list of one, alone",
        steps!(
            "p_status = 'dead_letter' and status <> 'dead_letter' and writer not like 'cli%' \
             and not exists (select from chaos.replay_history r where r.job_id = steps.job_id and r.tx = steps.tx \
                 and r.status = 'replayed')"
        ),
    ),
    (
        "a job that requires keys is never leased without them",
        steps!(
            "p_keys and user_id not like 'keyed%' and status = 'leased' and (p_status <> 'leased' or epoch > p_epoch)"
        ),
    ),
    ("a job that requires keys never stops to", steps!("p_keys and not requires_keys")),
    (
        "a job that requires keys never queues",
        "select format('%s v%s', job_id, version) from chaos.history where requires_keys and status = 'queued'",
    ),
    (
        "a live job has an owner and a due time",
        "select format('%s v%s is %s and has no due time', job_id, version, status) from chaos.history \
         where op <> 'DELETE' and (reconcile_after_at is null) <> (status in ('completed', 'dead_letter'))",
    ),
    (
        "an attempt is spent by a run alone, and never by a delivery that did not run",
        steps!(
            "p_status <> 'leased' and attempts > p_attempts or p_status <> 'leased' and crashes > p_crashes"
        ),
    ),
    (
        // A delivery may find the lease of another one expired. A job that waits for keys is claimed by sessions that bring
        // them, without a dispatch of its own.
        "a dispatch is run once, unless its lease ran out",
        "select format('%s g%s d%s: %s claims', job_id, generation, dispatch, count(*)) from (select h.*, \
             lag(epoch) over w p_epoch, lag(crashes) over w p_crashes from chaos.history h \
             window w as (partition by job_id order by version, seq)) h \
         where status = 'leased' and epoch > coalesce(p_epoch, 0) and not requires_keys \
             and crashes <= coalesce(p_crashes, 0) \
         group by job_id, generation, dispatch having count(*) > 1",
    ),
    (
        "a job begins queued, parked or leased, once",
        "select format('%s inserted %s times', job_id, count(*)) from chaos.history where op = 'INSERT' \
         group by job_id having count(*) > 1 or bool_or(status not in ('queued', 'blocked_byok', 'leased'))",
    ),
    (
        "a checkpoint is written under the present epoch of a lease",
        "select format('%s %s: epoch %s, the job is %s under %s, by %s', job_id, stage, epoch, job_status, job_epoch, writer) \
         from chaos.checkpoints where epoch <> job_epoch or job_status <> 'leased'",
    ),
];
