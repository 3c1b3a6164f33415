//! Model servers as processes report them, and the jobs that wait for one.

use chrono::Duration;
use job::{Cause, ErrorClass, FailureCode};
use ledger::Transition;
use operations::{ModelAnswer, ModelServer, ServerKind};

use crate::world::{World, fail, process};

fn server(class: Option<&str>) -> ModelServer {
    let called =
        ModelAnswer { seconds_ago: 3, class: class.map(str::to_owned), http_status: class.map(|_| 503) };
    ModelServer {
        kind: ServerKind::Model,
        engine: "openai:m@h/1".to_owned(),
        open_for: class.map(|_| 12),
        called: Some(called),
        checked: None,
    }
}

#[tokio::test]
async fn model_servers_lists_reports_of_live_processes_only() {
    let world = World::new().await;
    for (id, class) in [("host:1", Some("server_error")), ("host:2", None), ("host:3", None)] {
        world.operations().report_process(&process(id, 4), &Default::default()).await.unwrap();
        world.operations().report_servers(id, &[server(class)]).await.unwrap();
    }
    world.operations().report_process(&process("host:4", 4), &Default::default()).await.unwrap();
    world
        .run(
            "update service_processes set seen_at = now() - interval '1 minute' where process_id = 'host:2'; \
             update service_processes set servers = '[{\"of\": \"another version\"}]' where process_id = 'host:3'",
        )
        .await;
    let found = world.operations().model_servers().await.unwrap();
    let names: Vec<&str> = found.reports.iter().map(|report| report.process.as_str()).collect();
    assert_eq!(names, ["host:1"], "not the dead one, the one of another version, or the one without servers");
    assert_eq!(found.reports[0].servers, [server(Some("server_error"))]);
}

#[tokio::test]
async fn model_servers_counts_jobs_whose_last_run_ended_by_one() {
    let world = World::new().await;
    let cause = |code, circuit_open| Cause {
        code,
        stage: Some("describe".to_owned()),
        class: Some(ErrorClass::ServerError),
        http_status: Some(503),
        circuit_open,
    };
    let waiting = async || world.operations().model_servers().await.unwrap().waiting;
    let away = FailureCode::ModelUnavailable;
    for (id, transition, cause) in [
        ("failed", fail(away), Some(cause(away, false))),
        ("given back", Transition::Release { delay: Duration::minutes(1) }, Some(cause(away, true))),
        ("another cause", fail(FailureCode::Internal), Some(cause(FailureCode::Internal, false))),
        ("stopped", Transition::Release { delay: Duration::zero() }, None),
        ("dead", fail(FailureCode::InvalidJob), Some(cause(away, false))),
    ] {
        let token = world.claimed(id).await.lease_token();
        world.ledger.settle(&token, transition, cause.as_ref()).await.unwrap();
    }
    assert_eq!(waiting().await, 2, "the one that failed and the one that was given back");
    world.run("update finalization_jobs set ready_at = now() where conversation_id = 'failed'").await;
    assert_eq!(waiting().await, 1, "a ready job waits for a slot");
}
