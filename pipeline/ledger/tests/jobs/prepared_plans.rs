//! Prepared plans live as long as sessions: one made for a small table must not read all of it once it has grown and
//! was analyzed, and a migration must not break the sessions that hold one.

use std::collections::BTreeMap;

use db::Migrated;
use job::{Outcome, Queue};
use ledger::{CheckpointKey, Ledger, Results, Settings, StoredJob};
use outbox::{DeliveryOutcome, DeliveryPolicy};
use records::EventKind;
use serde_json::json;

use crate::{
    query_plans::HISTORY,
    world::{World, completion, new_conversation, segment, wanted},
};

/// The rows read from each table, by sequential and index scans.
pub(crate) async fn reads(world: &World) -> BTreeMap<String, i64> {
    let rows: Vec<(String, i64)> = world.rows("select t.relname, (t.seq_tup_read + coalesce(sum(i.idx_tup_read), 0))::bigint \
         from pg_stat_user_tables t left join pg_stat_user_indexes i using (relid) group by t.relid, t.relname, t.seq_tup_read").await;
    rows.into_iter().collect()
}

/// 50,000 sent deliveries, and 2,000 due ones.
const SENT: &str = "insert into webhook_endpoints (user_id, endpoint_id, url, events, format, secret) \
    select user_id, 'w', 'https://example.com', '{conversation.completed}', 'full', 's' from users where user_id <> 'ann'; \
    insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, finished_at, occurred_at) \
    select 'u' || n % 500, 'w', 'd' || n, 'conversation.completed', \
        case when n < 2000 then 'pending' else 'delivered' end, case when n < 2000 then now() end, \
        case when n >= 2000 then now() end, now() from generate_series(0, 51999) n";

/// Runs every operation of a conversation's life, for two at once.
pub(crate) async fn run_every_operation(world: &World, ledger: &Ledger, round: &str) {
    for kind in ["x", "y"] {
        let id = world.deferred(&format!("{round}{kind}")).await;
        ledger
            .store()
            .append_segments(&world.ann, &id, &[segment(&format!("{round}{kind}"))])
            .await
            .unwrap()
            .unwrap();
        ledger.finalize(&world.ann, &id, None, None).await.unwrap().unwrap();
        ledger
            .create_conversation(&world.ann, new_conversation(&format!("{round}{kind}t")), None)
            .await
            .unwrap();
        ledger.poll(&world.ann, &id).await.unwrap().unwrap();
    }
    for queue in [Queue::Finalization, Queue::Creation] {
        let claimed = ledger.claim(&wanted(queue, 2)).await.unwrap();
        assert_eq!(claimed.claims.len(), 2);
        let token: Vec<_> = claimed.claims.iter().map(StoredJob::lease_token).collect();
        ledger.renew(&token).await.unwrap();
        for run in &claimed.claims {
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
async fn plan_made_for_a_small_table_does_not_scan_the_grown_table() {
    let world = World::new().await;
    let options = world.database.options().application_name("measured");
    let ledger = Ledger::new(options, Settings { connections: 1, ..Settings::default() });
    world.endpoint(&world.ann, "w", EventKind::ALL).await;
    for round in 0..6 {
        run_every_operation(&world, &ledger, &format!("small{round}")).await;
    }
    // The server does this by itself within a minute of such growth; it drops the plans.
    world.database.seed(&[HISTORY, SENT, "analyze"]).await;
    let before = reads(&world).await;
    for round in 0..4 {
        run_every_operation(&world, &ledger, &format!("large{round}")).await;
    }
    ledger.db().close().await;
    world.database.until_nobody_is("measured").await;
    let mut whole = Vec::new();
    for (table, rows) in reads(&world).await {
        let read = rows - before.get(&table).copied().unwrap_or(0);
        // An operation may read the rows of one user, but never all 50,000.
        if read > 20_000 {
            whole.push(format!("{table}: {read}"));
        }
    }
    assert_eq!(whole, Vec::<String>::new());
}

#[tokio::test]
async fn fast_growing_tables_are_not_analyzed_while_small() {
    let world = World::new().await;
    let eager: Vec<String> = world.list("select relname::text from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace \
             and relname = any(array['conversations', 'transcript_segments', 'finalization_jobs', \
                 'finalization_admissions', 'stage_checkpoints', 'action_items', 'memories', 'webhook_deliveries']) \
             and not coalesce(reloptions, '{}') @> \
                 '{autovacuum_analyze_threshold=1000,autovacuum_vacuum_threshold=1000}'").await;
    assert_eq!(eager, Vec::<String>::new());
}

/// What `migrations/README.md` allows: a column without a default.
const ADDED: &str = "alter table finalization_jobs add column added_later bigint";

#[tokio::test]
async fn migration_under_a_running_process_fails_one_claim_and_defers_nothing() {
    let world = World::new().await;
    let settings = Settings { connections: 1, ..Settings::default() };
    let ledger = Ledger::new(world.database.options(), settings);
    run_every_operation(&world, &ledger, "before").await;
    world.run(ADDED).await;
    let job = world.admitted("meanwhile").await;
    let refused = ledger.claim(&wanted(Queue::Creation, 1)).await.unwrap_err();
    assert!(refused.is_passing(), "{refused}");
    let claims = ledger.claim(&wanted(Queue::Creation, 1)).await.unwrap();
    assert_eq!((claims.claims.len(), claims.deferred), (1, 0));
    assert_eq!(claims.claims[0].job.id, job);
    // No other operation uses the connections that were open then either.
    run_every_operation(&world, &ledger, "after").await;
}

/// `listen migrate` before every start, by a role that owns nothing.
#[tokio::test]
async fn migrate_by_a_role_without_create_rights_succeeds_when_up_to_date() {
    let world = World::new().await;
    let role = format!("reader_of_{}", world.database.name());
    world.database.run(&format!("create role {role}; grant select on _sqlx_migrations to {role}")).await;
    let reader =
        Ledger::new(world.database.options().options([("role", role.as_str())]), Settings::default());
    assert_eq!(reader.db().migrate().await.unwrap(), Migrated::Applied(Vec::new()));

    world.run("update _sqlx_migrations set checksum = '' where version = (select min(version) from _sqlx_migrations)").await;
    assert!(reader.db().migrate().await.is_err(), "a migration with another checksum is an error");
    reader.db().close().await;
    world.database.run(&format!("drop owned by {role}; drop role {role}")).await;
}
