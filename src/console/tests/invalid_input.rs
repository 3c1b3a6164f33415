//! Mistyped or forged input gets an error page that does not blame the database.

use axum::http::StatusCode;
use operations::Operations;

use super::world::{Answer, Who, World};

/// Fails unless the answer is a console page that names the invalid input.
fn is_told(answer: &Answer, status: StatusCode, what: &str) {
    assert_eq!(answer.status, status, "{what}: {}", answer.text);
    assert!(answer.text.contains("<h1>"), "{what} is answered by a page: {}", answer.text);
    assert!(!answer.text.contains("does not answer"), "{what}: {}", answer.text);
}

#[tokio::test]
async fn unusable_ids_and_queries_are_404_or_422() {
    let world = World::with_keys().await;
    let cookie = world.cookie("ron's").await;
    let ron = Who { cookie: &cookie, ..Who::default() };
    for path in ["jobs/%00", "jobs/a%00b/replay", "jobs/%ff", "replays/%00", "replays/%00/pause"] {
        is_told(&world.get(&format!("/console/{path}"), ron).await, StatusCode::NOT_FOUND, path);
    }
    for path in [
        "jobs?user=%00",
        "jobs?after=1.%00",
        "jobs?after=-300000000000000000.fj_0",
        "jobs?since=-262143-01-01T00:00:00Z",
        "jobs?until=-5000-01-01T00:00:00Z",
        "jobs?status=dead_letter&status=queued",
        "find?id=%00",
        "jobs/selected?act=replay",
        "jobs/selected?act=nothing&job=fj_1",
        "replays/new?user=%00",
        "replays/x?after=first",
        "webhooks?user=%00",
        "webhooks?before=300000000000000000.d",
        "webhooks/delivery?user=ann&endpoint=%00&delivery=d",
        "audit?operator=%00",
        "audit?action=%00",
    ] {
        let answer = world.get(&format!("/console/{path}"), ron).await;
        is_told(&answer, StatusCode::UNPROCESSABLE_ENTITY, path);
    }
    let twice = world.get("/console/jobs?status=queued&status=leased", ron).await;
    assert!(twice.text.contains("&#34;status&#34; stands twice"), "{}", twice.text);
}

#[tokio::test]
async fn form_with_unstorable_characters_changes_nothing() {
    let world = World::with_keys().await;
    let cookie = world.cookie("olga's").await;
    let olga = Who { cookie: &cookie, ..Who::default() };
    let path = "/console/queues/finalization/pause";
    let form = world.get(path, olga).await;
    let long = "a".repeat(90_000);
    for (reason, status) in
        [("abc\0d", StatusCode::UNPROCESSABLE_ENTITY), (long.as_str(), StatusCode::PAYLOAD_TOO_LARGE)]
    {
        let fields = [("token", form.token()), ("reason", reason)];
        is_told(&world.post(path, &fields, olga).await, status, &reason[..3]);
    }
    assert!(Operations::new(&world.ledger).pauses().await.unwrap().is_empty());
    let fields = [("token", form.token()), ("reason", "a test")];
    is_told(&world.post("/console/jobs/%00/replay", &fields, olga).await, StatusCode::NOT_FOUND, "a job");
    is_told(
        &world.post("/console/login", &[("key", &*long)], Who::default()).await,
        StatusCode::PAYLOAD_TOO_LARGE,
        "a key",
    );
}

#[tokio::test]
async fn missing_schema_page_says_what_to_do() {
    let world = World::with_keys().await;
    let cookie = world.cookie("ron's").await;
    world.run("drop table finalization_jobs cascade").await;
    let page = world.get("/console/jobs", Who { cookie: &cookie, ..Who::default() }).await;
    assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(page.text.contains("listen migrate"), "{}", page.text);
}
