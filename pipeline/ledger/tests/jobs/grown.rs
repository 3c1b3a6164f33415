//! Plans are kept as long as sessions. One that was made while a table was as good as empty must not read all of it once the
//! table has grown and the server has counted again.

use std::collections::BTreeMap;

use job::{Outcome, Queue};
use ledger::{CheckpointKey, Claimed, Ledger, Results, Settings};
use outbox::{DeliveryOutcome, DeliveryPolicy};
use records::EventKind;
use serde_json::json;

use crate::{
    explain::HISTORY,
    world::{World, completion, said, talk, wanted},
};

/// What rows each table gave, by scans of its own and of its indexes.
pub(crate) async fn reads(world: &World) -> BTreeMap<String, i64> {
    let rows: Vec<(String, i64)> = world.rows("select t.relname, (t.seq_tup_read + coalesce(sum(i.idx_tup_read), 0))::bigint \
         from pg_stat_user_tables t left join pg_stat_user_indexes i using (relid) group by t.relid, t.relname, t.seq_tup_read").await;
    rows.into_iter().collect()
}

/// 50,000 deliveries that were sent, and 2,000 that are due.
const SENT: &str = "insert into webhook_endpoints (user_id, endpoint_id, url, events, format, secret) \
    select user_id, 'w', 'https://example.com', '{conversation.completed}', 'full', 's' from users where user_id <> 'ann'; \
    insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, finished_at, occurred_at) \
    select 'u' || n % 500, 'w', 'd' || n, 'conversation.completed', \
        case when n < 2000 then 'pending' else 'delivered' end, case when n < 2000 then now() end, \
        case when n >= 2000 then now() end, now() from generate_series(0, 51999) n";

/// Every verb on the way of a conversation, of two at once.
pub(crate) async fn street(world: &World, ledger: &Ledger, round: &str) {
    for kind in ["x", "y"] {
        let id = world.deferred(&format!("{round}{kind}")).await;
        ledger
            .store()
            .append_segments(&world.ann, &id, &[said(&format!("{round}{kind}"))])
            .await
            .unwrap()
            .unwrap();
        ledger.finalize(&world.ann, &id, None).await.unwrap().unwrap();
        ledger.create_conversation(&world.ann, talk(&format!("{round}{kind}t"))).await.unwrap();
        ledger.poll(&world.ann, &id).await.unwrap().unwrap();
    }
    for queue in [Queue::Finalization, Queue::Creation] {
        let taken = ledger.claim(&wanted(queue, 2)).await.unwrap();
        assert_eq!(taken.claims.len(), 2);
        let token: Vec<_> = taken.claims.iter().map(Claimed::lease_token).collect();
        ledger.renew(&token).await.unwrap();
        for run in &taken.claims {
            let (user, id) = (&run.user_id, &run.conversation_id);
            ledger.run_input(run).await.unwrap().unwrap();
            let key = CheckpointKey { stage: "describe", version: 1, digest: [7; 32] };
            assert!(ledger.recall(&run.lease_token(), &key).await.unwrap().is_none());
            assert!(ledger.record(&run.lease_token(), &key, &json!({}), false, &[]).await.unwrap());
            ledger.complete(&completion(run, Outcome::Kept, Results::default())).await.unwrap();
            ledger.store().conversation(user, id, true).await.unwrap().unwrap();
            assert!(ledger.delete_conversation(user, id).await.unwrap());
        }
    }
    let policy = DeliveryPolicy::default();
    for claimed in ledger.outbox().claim_deliveries(2, &policy, None).await.unwrap().claimed {
        let delivered = DeliveryOutcome::Delivered { status: 204 };
        assert!(ledger.outbox().finish_delivery(&claimed, delivered, &policy).await.unwrap());
    }
    ledger.due_page(None, 10).await.unwrap();
    ledger.expired_leases(None, 10).await.unwrap();
    ledger.sweep_processing(None, 10).await.unwrap();
    ledger.abandoned_page(None, 10).await.unwrap();
}

#[tokio::test]
async fn a_plan_that_was_made_for_a_small_table_reads_no_more_of_a_large_one() {
    let world = World::new().await;
    let options = world.database.options().application_name("verb");
    let ledger = Ledger::new(options, Settings { connections: 1, ..Settings::default() });
    world.endpoint(&world.ann, "w", &EventKind::ALL).await;
    for round in 0..6 {
        street(&world, &ledger, &format!("small{round}")).await;
    }
    // What the server does by itself within a minute of such growth: it counts again, and drops the plans.
    world.database.seed(&[HISTORY, SENT, "analyze"]).await;
    let before = reads(&world).await;
    for round in 0..4 {
        street(&world, &ledger, &format!("large{round}")).await;
    }
    ledger.db().close().await;
    world.database.until_nobody_is("verb").await;
    let mut whole = Vec::new();
    for (table, rows) in reads(&world).await {
        let read = rows - before.get(&table).copied().unwrap_or(0);
        // A user's rows may be read for one of them; never all 50,000.
        if read > 20_000 {
            whole.push(format!("{table}: {read}"));
        }
    }
    assert_eq!(whole, Vec::<String>::new());
}

#[tokio::test]
async fn no_table_that_grows_fast_is_counted_while_it_is_small() {
    let world = World::new().await;
    let eager: Vec<String> = world.list("select relname::text from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace \
             and relname = any(array['conversations', 'transcript_segments', 'finalization_jobs', \
                 'finalization_admissions', 'stage_checkpoints', 'action_items', 'memories', 'webhook_deliveries']) \
             and not coalesce(reloptions, '{}') @> \
                 '{autovacuum_analyze_threshold=1000,autovacuum_vacuum_threshold=1000}'").await;
    assert_eq!(eager, Vec::<String>::new());
}
