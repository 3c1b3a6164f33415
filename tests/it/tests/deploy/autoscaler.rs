//! The queries by which KEDA scales workers, run with the database role of the autoscaler.

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use testbed::TestDatabase;

use crate::files::{containers, document, effective, number, read, setting, text};

/// One trigger: its queue and its query.
fn triggers() -> Vec<(String, String)> {
    let worker = document("deploy/kubernetes/keda/worker.yaml", "ScaledObject");
    let triggers = worker["spec"]["triggers"].as_vec().expect("triggers");
    let of = |trigger: &yaml_rust2::Yaml| {
        (text(&trigger["name"]).to_owned(), text(&trigger["metadata"]["query"]).to_owned())
    };
    triggers.iter().map(of).collect()
}

#[test]
fn autoscaler_adds_a_worker_per_jobs_that_one_runs_at_once() {
    let container =
        containers().into_iter().find(|container| container.place.ends_with("worker")).expect("workers");
    let settings = effective(&container.place, &container.env);
    for (place, value) in
        [("keda/worker.yaml", "targetQueryValue"), ("keda-prometheus/triggers.yaml", "threshold")]
    {
        let worker = document(&format!("deploy/kubernetes/{place}"), "ScaledObject");
        let triggers = worker["spec"]["triggers"].as_vec().expect("triggers");
        assert_eq!(triggers.len(), 2, "{place}");
        for trigger in triggers {
            let slots = setting(&settings, &format!("{}_concurrency", text(&trigger["name"])));
            assert_eq!(text(&trigger["metadata"][value]), slots.to_string());
            assert_eq!(text(&trigger["metricType"]), "AverageValue");
        }
    }
}

/// What is counted to a bound, and scaled by, must not be what keeps workers from being added.
#[test]
fn autoscaler_counts_beyond_the_slots_of_all_workers() {
    let worker = document("deploy/kubernetes/keda/worker.yaml", "ScaledObject");
    let most = number(&worker["spec"]["maxReplicaCount"]);
    let counted = "limit 1000) ready)";
    for trigger in worker["spec"]["triggers"].as_vec().expect("triggers") {
        let slots: i64 = text(&trigger["metadata"]["targetQueryValue"]).parse().expect("a number");
        assert!(text(&trigger["metadata"]["query"]).contains(counted), "counted to a bound");
        assert!(most * slots <= 2_000, "{most} workers of {slots} slots");
    }
    assert!(read("pipeline/operations/sql/jobs/backlog.sql").replace("\n", " ").contains("limit 1000"));
    for told in ["docs/scaling.md", "deploy/kubernetes/keda/worker.yaml", "dashboards/README.md"] {
        assert!(read(told).contains("counted to 1,000"), "{told} tells a scaler's author");
    }
}

#[test]
fn autoscaler_queries_the_exported_gauge_of_each_queue() {
    let worker = document("deploy/kubernetes/keda-prometheus/triggers.yaml", "ScaledObject");
    let exported = read("src/admin/families.rs");
    for trigger in worker["spec"]["triggers"].as_vec().expect("triggers") {
        let (queue, query) = (text(&trigger["name"]), text(&trigger["metadata"]["query"]));
        assert_eq!(query, format!("max(listen_finalization_backlog{{queue=\"{queue}\"}})"));
        assert!(["finalization", "creation"].contains(&queue), "{queue}");
        // An empty answer is no empty backlog.
        assert_eq!(text(&trigger["metadata"]["ignoreNullValues"]), "false");
    }
    assert!(exported.contains("\"listen_finalization_backlog\""));
}

/// A job in `status`, with what the table's rules want of it.
fn job(id: &str, queue: &str, status: &str, ready: &str) -> String {
    let ready_at = if status == "queued" { ready } else { "null" };
    let lease = match status {
        "leased" => "'w', now(), now() + interval '9 s', now()",
        _ => "null, null, null, null",
    };
    let check = if matches!(status, "dead_letter" | "completed") { "null" } else { "now()" };
    let (blocked, code, finished, outcome) = match status {
        "blocked_byok" => ("now()", "null", "null", "null"),
        "dead_letter" => ("null", "'model_timeout'", "now()", "null"),
        "completed" => ("null", "null", "now()", "'kept'"),
        _ => ("null", "null", "null", "null"),
    };
    format!(
        "insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, requires_keys, \
             force_process, admitted_at, created_at, updated_at, ready_at, reconcile_after_at, lease_worker, \
             lease_claimed_at, lease_expires_at, lease_ready_at, first_blocked_at, dead_code, finished_at, outcome) \
         values ('u', '{id}', 'c{id}', 1, 'finalize', '{queue}', '{status}', false, false, now(), now(), now(), {ready_at}, \
             {check}, {lease}, {blocked}, {code}, {finished}, {outcome});"
    )
}

async fn run(session: &mut PgConnection, statements: String) {
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(session).await.expect("the statements are good");
}

/// As the role of the autoscaler, within a transaction that is never committed: roles belong to the whole server.
async fn seen(session: &mut PgConnection) -> Vec<i64> {
    run(session, "set local role listen_scaler".to_owned()).await;
    let mut counts = Vec::new();
    for (_, query) in triggers() {
        let count = sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(&mut *session).await;
        counts.push(count.expect("the autoscaler may ask it"));
    }
    run(session, "reset role".to_owned()).await;
    counts
}

#[tokio::test]
async fn autoscaler_counts_runnable_and_running_jobs_only() {
    let names: Vec<String> = triggers().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["finalization", "creation"]);
    let database = TestDatabase::new().await;
    let mut session = PgConnection::connect_with(&database.options()).await.expect("a session");
    run(&mut session, format!("begin; {}", read("deploy/kubernetes/keda/role.sql"))).await;
    assert_eq!(seen(&mut session).await, [0, 0], "an empty service");
    let (past, later) = ("now() - interval '9 s'", "now() + interval '9 minutes'");
    // What is added, and what the autoscaler sees from then on.
    let scenes = [
        (job("1", "finalization", "queued", past), [1, 0]),
        (job("2", "creation", "queued", past), [1, 1]),
        (job("3", "finalization", "leased", ""), [2, 1]),
        (job("4", "finalization", "queued", later), [2, 1]),
        (job("5", "finalization", "blocked_byok", ""), [2, 1]),
        (job("6", "finalization", "dead_letter", ""), [2, 1]),
        (job("7", "creation", "completed", ""), [2, 1]),
        ("insert into queue_pauses values ('finalization', 'ada', 'a test', now())".to_owned(), [0, 1]),
        ("delete from queue_pauses".to_owned(), [2, 1]),
    ];
    for (added, expected) in scenes {
        run(&mut session, added.clone()).await;
        assert_eq!(seen(&mut session).await, expected, "{added}");
    }
}

#[tokio::test]
async fn autoscaler_role_reads_no_history_and_no_user_content() {
    let database = TestDatabase::new().await;
    let mut session = PgConnection::connect_with(&database.options()).await.expect("a session");
    let history = "insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, \
         requires_keys, force_process, admitted_at, created_at, updated_at, finished_at, outcome) \
         select 'u', 'h' || n, 'c' || n, 1, 'finalize', 'finalization', 'completed', false, false, now(), now(), now(), \
             now(), 'kept' from generate_series(1, 20000) n; analyze finalization_jobs;";
    run(&mut session, format!("begin; {} {history}", read("deploy/kubernetes/keda/role.sql"))).await;
    run(&mut session, "set local role listen_scaler".to_owned()).await;
    for (queue, query) in triggers() {
        let plan: Vec<String> = sqlx::query_scalar(AssertSqlSafe(format!("explain {query}")))
            .fetch_all(&mut session)
            .await
            .expect("it can be explained");
        let plan = plan.join("\n");
        assert!(!plan.contains("Seq Scan on finalization_jobs"), "{queue}: {plan}");
        // Partial ones, which hold no finished job.
        assert!(plan.matches("Scan using finalization_jobs_").count() == 2, "{queue}: {plan}");
    }
    for forbidden in [
        "select user_id from finalization_jobs",
        "select count(*) from conversations",
        "delete from queue_pauses",
    ] {
        run(&mut session, "savepoint before".to_owned()).await;
        let refused = sqlx::raw_sql(AssertSqlSafe(forbidden.to_owned())).execute(&mut session).await;
        assert!(refused.is_err(), "{forbidden}");
        run(&mut session, "rollback to before".to_owned()).await;
    }
}
