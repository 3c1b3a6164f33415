//! `P/memories`, as a client sends and reads it.

use std::sync::Arc;

use api::{Categorize, Settings};
use axum::http::Method;
use records::MemoryCategory;
use serde_json::{Value, json};

use crate::bench::{Bench, P, quick};

/// Puts every memory into the category `skills`.
#[derive(Debug)]
struct Skilled;

impl Categorize for Skilled {
    fn memory(&self, _: &str) -> MemoryCategory {
        MemoryCategory::Skills
    }
}

async fn bench() -> Bench {
    Bench::with(Settings { categorize: Arc::new(Skilled), ..quick() }).await
}

#[tokio::test]
async fn memory_has_the_documented_fields_and_a_default_category() {
    let bench = bench().await;
    let path = format!("{P}/memories");
    let made = bench.post(&path, json!({ "content": "Speaks Spanish" })).await;
    assert_eq!(made.status, 200, "{made:?}");
    let fields: Vec<_> = made.body.as_object().unwrap().keys().collect();
    let expected = [
        "id",
        "content",
        "category",
        "visibility",
        "tags",
        "created_at",
        "updated_at",
        "manually_added",
        "reviewed",
        "user_review",
        "edited",
        "scoring",
        "conversation_id",
    ];
    assert_eq!(fields, expected);
    assert_eq!(
        (&made.body["category"], &made.body["visibility"], &made.body["tags"]),
        (&json!("skills"), &json!("private"), &json!([]))
    );
    assert_eq!((&made.body["manually_added"], &made.body["edited"]), (&json!(true), &json!(false)));
    let body = json!({ "content": "x", "category": "system", "visibility": "public", "tags": ["a", "b"] });
    let named = bench.post(&path, body).await;
    assert_eq!(
        (&named.body["category"], &named.body["visibility"], &named.body["tags"]),
        (&json!("system"), &json!("public"), &json!(["a", "b"]))
    );
    let nulls = json!({ "content": "x", "category": null, "visibility": null, "tags": null });
    let nulls = bench.post(&path, nulls).await;
    assert_eq!(nulls.body["category"], "skills");
    assert_eq!(bench.get(&path).await.body, json!([nulls.body, named.body, made.body]), "newest first");
    let filtered = bench.get(&format!("{path}?categories=system,core")).await;
    assert_eq!(filtered.body, json!([named.body]));
}

#[tokio::test]
async fn memory_errors_name_every_failing_field() {
    let bench = bench().await;
    let path = format!("{P}/memories");
    let body = json!({ "content": "", "category": "cats", "visibility": "shared", "tags": ["fine", 5] });
    let answer = bench.post(&path, body).await;
    assert_eq!(
        answer.kinds(),
        [
            ("string_too_short", &json!(["body", "content"])),
            ("enum", &json!(["body", "category"])),
            ("enum", &json!(["body", "visibility"])),
            ("string_type", &json!(["body", "tags", 1])),
        ]
    );
    assert_eq!(answer.body["detail"][2]["msg"], "Input should be 'public' or 'private'");
    assert_eq!(bench.post(&path, json!({ "content": "🧠".repeat(501) })).await.status, 422);
    assert_eq!(bench.post(&path, json!({ "content": "🧠".repeat(500) })).await.status, 200);
}

#[tokio::test]
async fn memory_batch_is_atomic() {
    let bench = bench().await;
    let path = format!("{P}/memories/batch");
    let facts: Vec<Value> = (0..25).map(|n| json!({ "content": format!("Fact {n}") })).collect();
    let made = bench.post(&path, json!({ "memories": facts })).await;
    assert_eq!((made.status.as_u16(), &made.body["created_count"]), (200, &json!(25)));
    assert_eq!(made.body["memories"][24]["content"], "Fact 24");
    for (sent, kind, loc) in [
        (json!({ "memories": [] }), "too_short", json!(["body", "memories"])),
        (json!({ "memories": vec![json!({ "content": "x" }); 26] }), "too_long", json!(["body", "memories"])),
        (
            json!({ "memories": [{ "content": "x" }, {}] }),
            "missing",
            json!(["body", "memories", 1, "content"]),
        ),
    ] {
        assert_eq!(bench.post(&path, sent).await.kinds(), [(kind, &loc)]);
    }
    let all = bench.get(&format!("{P}/memories?limit=1000")).await;
    assert_eq!(all.body.as_array().unwrap().len(), 25, "a refused batch stores nothing");
}

#[tokio::test]
async fn memory_is_changed_and_deleted_by_its_owner_and_has_no_single_read() {
    let bench = bench().await;
    let made = bench.post(&format!("{P}/memories"), json!({ "content": "x", "tags": ["a"] })).await;
    let path = format!("{P}/memories/{}", made.body["id"].as_str().unwrap());
    let patch = async |body| bench.ask(&bench.key, Method::PATCH, &path, Some(body)).await;
    let changed = patch(json!({ "visibility": "public", "category": "work" })).await;
    assert_eq!(
        (&changed.body["visibility"], &changed.body["category"], &changed.body["edited"]),
        (&json!("public"), &json!("work"), &json!(true))
    );
    assert_eq!((&changed.body["content"], &changed.body["tags"]), (&json!("x"), &json!(["a"])));
    let reworded = patch(json!({ "content": "y", "tags": [] })).await;
    assert_eq!((&reworded.body["content"], &reworded.body["tags"]), (&json!("y"), &json!([])));
    assert_eq!(
        (&reworded.body["visibility"], &reworded.body["category"]),
        (&json!("public"), &json!("work")),
        "what is not named stays"
    );
    assert_eq!(patch(json!({})).await.kinds(), [("value_error", &json!(["body"]))]);
    assert_eq!(
        patch(json!({ "content": null, "tags": null })).await.kinds(),
        [("string_type", &json!(["body", "content"])), ("list_type", &json!(["body", "tags"]))]
    );
    let read = bench.get(&path).await;
    assert_eq!(read.status, 405);
    assert!(read.header("allow").contains("PATCH"), "{:?}", read.headers);
    let bob = bench.person("bob", api::Scope::ALL).await;
    let gone = json!({ "detail": "Memory not found" });
    let theirs = bench.ask(&bob, Method::PATCH, &path, Some(json!({ "content": "y" }))).await;
    assert_eq!((theirs.status.as_u16(), &theirs.body), (404, &gone));
    assert_eq!(bench.ask(&bob, Method::DELETE, &path, None).await.body, gone);
    let deleted = bench.ask(&bench.key, Method::DELETE, &path, None).await;
    assert_eq!((deleted.status.as_u16(), &deleted.body), (200, &json!({ "success": true })));
    assert_eq!(bench.ask(&bench.key, Method::DELETE, &path, None).await.body, gone);
}
