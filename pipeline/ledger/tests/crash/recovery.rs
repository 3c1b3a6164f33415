//! Recovery by other processes after a crash, and the rules that must hold before and after it.

use job::{Outcome, Queue};

use crate::job_operations::deliveries;
use crate::world::{World, completion, results, wanted};

/// Rules that always hold, also right after a crash, before any repair.
const ALWAYS: [(&str, &str); 8] = [
    (
        "a live job has a next check",
        "select format('%s is %s', job_id, status) from finalization_jobs \
         where (status in ('queued', 'leased', 'blocked_byok')) <> (reconcile_after_at is not null)",
    ),
    (
        "every admitted revision has its job, unless it was pruned",
        "select format('%s r%s', conversation_id, revision) from finalization_admissions a \
         where not exists (select from finalization_jobs j where j.job_id = a.job_id) and user_id not like 'Prune%'",
    ),
    (
        "every job was admitted",
        "select job_id from finalization_jobs j where not exists (select from finalization_admissions a \
             where a.job_id = j.job_id and a.revision = j.revision)",
    ),
    (
        // A reprocessed conversation stays completed meanwhile.
        "conversation and job agree",
        "select format('%s is %s, its job is %s', c.conversation_id, c.status, j.status) from conversations c \
         left join finalization_jobs j on j.user_id = c.user_id and j.conversation_id = c.conversation_id \
             and j.revision = c.finalization_revision \
         where c.user_id not like 'Prune%' and (j.origin is distinct from 'reprocess' or c.status <> 'completed') \
             and c.status <> case j.status when 'completed' then 'completed' \
             when 'dead_letter' then 'failed' when 'queued' then 'processing' when 'leased' then 'processing' \
             when 'blocked_byok' then 'processing' else 'in_progress' end",
    ),
    (
        "a job without its conversation is terminal",
        "select job_id from finalization_jobs j where status in ('queued', 'leased', 'blocked_byok') and not exists \
             (select from conversations c where c.user_id = j.user_id and c.conversation_id = j.conversation_id)",
    ),
    (
        "the totals are those of the table",
        "select format('%s: %s counted', t.status, t.n) from (select status, sum(jobs) n from finalization_totals \
             group by 1) t where t.n <> (select count(*) from finalization_jobs j where j.status = t.status)",
    ),
    (
        // Pending deliveries of results that a later revision replaced are cancelled.
        "a kept revision has its results and deliveries, once each",
        "select format('%s: %s items, %s memories, %s deliveries', j.conversation_id, i, m, d) \
         from finalization_jobs j join conversations c using (user_id, conversation_id) cross join lateral (select \
             (select count(*) from action_items a where a.user_id = j.user_id) i, \
             (select count(*) from memories a where a.user_id = j.user_id) m, \
             (select count(*) from webhook_deliveries w where w.user_id = j.user_id and w.revision = j.revision \
                 and w.event <> 'conversation.failed') d) n \
         where j.outcome = 'kept' and (i, m, d) <> (1, 1, case when exists (select from finalization_jobs n \
             where n.user_id = j.user_id and n.revision < j.revision and n.outcome = 'kept') then 1 else 3 end)",
    ),
    (
        "a revision that was not kept has no items",
        "select j.job_id from finalization_jobs j where coalesce(j.outcome, '') <> 'kept' and j.origin <> 'reprocess' and j.revision = (select \
             max(revision) from finalization_jobs n where n.user_id = j.user_id) and exists (select from action_items a \
             where a.user_id = j.user_id)",
    ),
];

/// Rules that hold once everything is recovered.
const AFTER_RECOVERY: [(&str, &str); 3] = [
    (
        "no job is left except those that wait for keys",
        "select format('%s is %s', job_id, status) from finalization_jobs where status in ('queued', 'leased')",
    ),
    (
        "a parked job requires keys",
        "select job_id from finalization_jobs where status = 'blocked_byok' and not requires_keys",
    ),
    (
        "no delivery is in progress forever",
        "select delivery_id from webhook_deliveries where status = 'sending' and sending_until > clock_timestamp() + \
             interval '1 minute'",
    ),
];

/// Checks the rules that always hold.
pub(crate) async fn check_owners(world: &World, position: &str) {
    assert_rules(world, position, &ALWAYS).await;
}

/// Repairs and finishes everything from another process, and checks all rules.
pub(crate) async fn recover_and_check(world: &World, position: &str) {
    let ledger = world.ledger();
    for _ in 0..40 {
        let leases = ledger.expired_leases(None, 100).await.unwrap().found;
        for (_, job) in ledger.due_page(None, 100).await.unwrap().found.into_iter().chain(leases) {
            ledger.reconcile(&job).await.unwrap();
        }
        for queue in [Queue::Creation, Queue::Finalization] {
            for claimed in ledger.claim(&wanted(queue, 50)).await.unwrap().claims {
                let done = ledger.complete(&completion(&claimed, Outcome::Kept, results())).await.unwrap();
                assert!(matches!(done, ledger::Finished::Completed { .. }), "{position}: {done:?}");
            }
        }
        if world.live().await == 0 {
            break;
        }
    }
    for delivery in ledger.outbox().claim_deliveries(100, &deliveries(), None).await.unwrap().claimed {
        let delivered = outbox::DeliveryOutcome::Delivered { status: 204 };
        assert!(
            ledger.outbox().finish_delivery(&delivery, delivered, &deliveries()).await.unwrap(),
            "{position}"
        );
    }
    assert_rules(world, position, &ALWAYS).await;
    assert_rules(world, position, &AFTER_RECOVERY).await;
}

async fn assert_rules(world: &World, position: &str, rules: &[(&str, &'static str)]) {
    for (rule, query) in rules {
        let rows: Vec<String> = sqlx::query_scalar(*query).fetch_all(&world.pool).await.unwrap();
        assert!(rows.is_empty(), "{position}: {rule}: {rows:?}");
    }
}

impl World {
    /// Jobs that are queued or leased.
    async fn live(&self) -> i64 {
        sqlx::query_scalar("select count(*) from finalization_jobs where status in ('queued', 'leased')")
            .fetch_one(&self.pool)
            .await
            .unwrap()
    }
}
