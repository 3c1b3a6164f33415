//! `P/action-items`, as a client written against the documents sends and reads it.

use axum::http::Method;
use serde_json::{Value, json};

use crate::bench::{Answer, Bench, P};

async fn create(bench: &Bench, body: Value) -> Answer {
    bench.post(&format!("{P}/action-items"), body).await
}

async fn patch(bench: &Bench, id: &Value, body: Value) -> Answer {
    let path = format!("{P}/action-items/{}", id.as_str().unwrap());
    bench.ask(&bench.key, Method::PATCH, &path, Some(body)).await
}

async fn list(bench: &Bench, query: &str) -> Vec<Value> {
    bench.get(&format!("{P}/action-items?{query}")).await.body.as_array().unwrap().clone()
}

#[tokio::test]
async fn action_item_has_the_documented_fields_and_defaults() {
    let bench = Bench::new().await;
    let made = create(&bench, json!({ "description": "Call Bob" })).await;
    assert_eq!(made.status, 200);
    let fields: Vec<_> = made.body.as_object().unwrap().keys().collect();
    let expected = [
        "id",
        "description",
        "completed",
        "created_at",
        "updated_at",
        "due_at",
        "completed_at",
        "conversation_id",
    ];
    assert_eq!(fields, expected);
    assert_eq!(made.body["completed"], false);
    for null in ["due_at", "completed_at", "conversation_id"] {
        assert_eq!(made.body[null], Value::Null, "{null}");
    }
    let due = create(&bench, json!({ "description": "Pay", "due_at": "2026-12-01T09:00:00+02:00" })).await;
    assert_eq!(due.body["due_at"], "2026-12-01T07:00:00Z");
    let done = create(&bench, json!({ "description": "Done", "completed": "yes", "due_at": null })).await;
    assert_eq!(done.body["completed_at"], done.body["created_at"]);
    assert_eq!(list(&bench, "").await, [done.body, due.body, made.body], "newest first");
}

#[tokio::test]
async fn action_item_errors_name_every_failing_field() {
    let bench = Bench::new().await;
    let missing = create(&bench, json!({ "completed": null, "due_at": "2026-12-01T09:00:00" })).await;
    assert_eq!(missing.status, 422);
    assert_eq!(
        missing.body["detail"],
        json!([
            { "type": "missing", "loc": ["body", "description"], "msg": "Field required" },
            { "type": "bool_type", "loc": ["body", "completed"], "msg": "Input should be a valid boolean" },
            { "type": "timezone_aware", "loc": ["body", "due_at"], "msg": "Input should have timezone info" },
        ])
    );
    for (due_at, kind) in [
        (json!("2026-12-01"), "timezone_aware"),
        (json!("soon"), "datetime_from_date_parsing"),
        (json!([]), "datetime_type"),
    ] {
        let answer = create(&bench, json!({ "description": "x", "due_at": due_at })).await;
        assert_eq!(answer.kinds(), [(kind, &json!(["body", "due_at"]))]);
    }
    for (length, fits) in [(500, true), (501, false), (0, false)] {
        let answer = create(&bench, json!({ "description": "🧠".repeat(length) })).await;
        assert_eq!(answer.status == 200, fits, "{length} characters");
    }
    assert_eq!(list(&bench, "").await.len(), 1);
}

#[tokio::test]
async fn action_item_due_at_accepts_unix_time() {
    let bench = Bench::new().await;
    for due_at in [json!(1_796_083_200), json!("1796083200")] {
        let made = create(&bench, json!({ "description": "x", "due_at": due_at })).await;
        assert_eq!(made.body["due_at"], "2026-12-01T00:00:00Z");
    }
}

#[tokio::test]
async fn action_item_batch_is_atomic_and_answered_in_order() {
    let bench = Bench::new().await;
    let path = format!("{P}/action-items/batch");
    let items: Vec<Value> = (0..50).map(|n| json!({ "description": format!("Do {n}") })).collect();
    let made = bench.post(&path, json!({ "action_items": items })).await;
    assert_eq!((made.status.as_u16(), &made.body["created_count"]), (200, &json!(50)));
    let told: Vec<&Value> =
        made.body["action_items"].as_array().unwrap().iter().map(|item| &item["description"]).collect();
    assert_eq!(told, items.iter().map(|item| &item["description"]).collect::<Vec<_>>());

    let wrong = json!([{ "description": "fine" }, { "description": "" }, { "completed": 2 }]);
    let refused = bench.post(&path, json!({ "action_items": wrong })).await;
    assert_eq!(
        refused.kinds(),
        [
            ("string_too_short", &json!(["body", "action_items", 1, "description"])),
            ("missing", &json!(["body", "action_items", 2, "description"])),
            ("bool_parsing", &json!(["body", "action_items", 2, "completed"])),
        ]
    );
    for (sent, kind) in [
        (json!({ "action_items": [] }), "too_short"),
        (json!({ "action_items": vec![json!({ "description": "" }); 51] }), "too_long"),
        (json!({ "action_items": "no" }), "list_type"),
        (json!({}), "missing"),
    ] {
        let answer = bench.post(&path, sent).await;
        assert_eq!(answer.kinds(), [(kind, &json!(["body", "action_items"]))]);
    }
    assert_eq!(list(&bench, "").await.len(), 50, "a refused batch stores nothing");
}

#[tokio::test]
async fn completing_an_item_sets_completed_at_and_null_clears_due_at() {
    let bench = Bench::new().await;
    let made = create(&bench, json!({ "description": "x", "due_at": "2026-12-01T09:00:00Z" })).await;
    let id = &made.body["id"];
    let done = patch(&bench, id, json!({ "completed": true })).await;
    assert_eq!(done.body["completed_at"], done.body["updated_at"]);
    assert_eq!(done.body["due_at"], "2026-12-01T09:00:00Z");
    let open = patch(&bench, id, json!({ "completed": false, "description": "y" })).await;
    assert_eq!((&open.body["completed_at"], &open.body["description"]), (&Value::Null, &json!("y")));
    let cleared = patch(&bench, id, json!({ "due_at": null })).await;
    assert_eq!(cleared.body["due_at"], Value::Null);

    let empty = patch(&bench, id, json!({ "unknown": 1 })).await;
    let words = "Value error, at least one field must be provided";
    assert_eq!(
        empty.body["detail"],
        json!([{ "type": "value_error", "loc": ["body"], "msg": words, "ctx": { "error": {} } }])
    );
    let nulls = patch(&bench, id, json!({ "description": null, "completed": null })).await;
    assert_eq!(
        nulls.kinds(),
        [("string_type", &json!(["body", "description"])), ("bool_type", &json!(["body", "completed"]))]
    );
    let naive = patch(&bench, id, json!({ "due_at": "2026-12-01T09:00:00" })).await;
    assert_eq!(naive.kinds(), [("timezone_aware", &json!(["body", "due_at"]))]);
}

#[tokio::test]
async fn deleted_action_item_is_gone_and_has_no_single_read() {
    let bench = Bench::new().await;
    let made = create(&bench, json!({ "description": "x" })).await;
    let path = format!("{P}/action-items/{}", made.body["id"].as_str().unwrap());
    let read = bench.get(&path).await;
    assert_eq!((read.status.as_u16(), &read.body), (405, &json!({ "detail": "Method Not Allowed" })));
    for allowed in ["PATCH", "DELETE"] {
        assert!(read.header("allow").contains(allowed), "{:?}", read.headers);
    }
    let bob = bench.person("bob", api::Scope::ALL).await;
    let gone = json!({ "detail": "Action item not found" });
    for method in [Method::PATCH, Method::DELETE] {
        let body = (method == Method::PATCH).then(|| json!({ "completed": true }));
        let theirs = bench.ask(&bob, method, &path, body).await;
        assert_eq!((theirs.status.as_u16(), &theirs.body), (404, &gone));
    }
    let deleted = bench.ask(&bench.key, Method::DELETE, &path, None).await;
    assert_eq!((deleted.status.as_u16(), &deleted.body), (200, &json!({ "success": true })));
    assert_eq!(bench.ask(&bench.key, Method::DELETE, &path, None).await.body, gone);
    assert_eq!(list(&bench, "").await, [] as [Value; 0]);
}

#[tokio::test]
async fn action_item_list_filters_by_completion_conversation_and_dates() {
    let bench = Bench::new().await;
    create(&bench, json!({ "description": "open" })).await;
    let done = create(&bench, json!({ "description": "done", "completed": true })).await;
    let at = done.body["created_at"].as_str().unwrap();
    for (query, found) in [
        ("completed=true".to_owned(), vec!["done"]),
        ("completed=0".to_owned(), vec!["open"]),
        ("conversation_id=none".to_owned(), vec![]),
        ("start_date=2020-01-01&end_date=2999-01-01".to_owned(), vec!["done", "open"]),
        ("end_date=2020-01-01".to_owned(), vec![]),
        (format!("start_date={at}&end_date={at}"), vec!["done"]),
        ("limit=1&offset=1".to_owned(), vec!["open"]),
    ] {
        let items = list(&bench, &query).await;
        let told: Vec<_> = items.iter().map(|item| item["description"].as_str().unwrap()).collect();
        assert_eq!(told, found, "{query}");
    }
    let wrong = bench.get(&format!("{P}/action-items?completed=maybe&start_date=x&limit=1001")).await;
    assert_eq!(
        wrong.kinds(),
        [
            ("less_than_equal", &json!(["query", "limit"])),
            ("bool_parsing", &json!(["query", "completed"])),
            ("datetime_from_date_parsing", &json!(["query", "start_date"])),
        ]
    );
}
