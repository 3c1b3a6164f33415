//! Listing, reading, changing and deleting; and the other lists.

use axum::http::Method;
use job::Queue;
use serde_json::{Value, json};

use crate::bench::{Bench, P};

async fn completed(bench: &Bench, text: &str) -> String {
    let answer = bench.post(&format!("{P}/conversations"), json!({ "text": text })).await;
    bench.complete_all(Queue::Creation).await;
    answer.body["id"].as_str().unwrap().to_owned()
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn conversation_list_is_newest_first_with_pagination_links() {
    let bench = Bench::new().await;
    let mut made = Vec::new();
    for text in ["one", "two", "three"] {
        made.insert(0, completed(&bench, text).await);
    }
    let all = bench.get(&format!("{P}/conversations")).await;
    assert_eq!(ids(&all.body), made);
    assert_eq!(all.header("link"), "");
    let middle = bench.get(&format!("{P}/conversations?limit=1&offset=1")).await;
    assert_eq!(ids(&middle.body), [&made[1]]);
    let links =
        format!("limit=1&offset=2>; rel=\"next\", <{P}/conversations?limit=1&offset=0>; rel=\"prev\"");
    assert!(middle.header("link").ends_with(&links), "{}", middle.header("link"));
    assert!(all.body[0].get("transcript_segments").is_none());
}

#[tokio::test]
async fn conversation_list_filters_and_invalid_filters_are_422() {
    let bench = Bench::new().await;
    let id = completed(&bench, "one").await;
    let patched = bench
        .ask(&bench.key, Method::PATCH, &format!("{P}/conversations/{id}"), Some(json!({ "starred": true })))
        .await;
    assert_eq!(patched.body["starred"], true, "{patched:?}");
    for (query, found) in [
        ("starred=true", 1),
        ("starred=no", 0),
        ("categories=other,work", 1),
        ("categories=work", 0),
        ("folder_id=nowhere", 0),
        ("start_date=2020-01-01", 1),
        ("end_date=2020-01-01", 0),
    ] {
        let list = bench.get(&format!("{P}/conversations?{query}")).await;
        assert_eq!(ids(&list.body).len(), found, "{query}");
    }
    for (query, kind, field) in [
        ("limit=0", "greater_than_equal", "limit"),
        ("limit=101", "less_than_equal", "limit"),
        ("offset=-1", "greater_than_equal", "offset"),
        ("limit=ten", "int_parsing", "limit"),
        ("categories=cats", "enum", "categories"),
        ("folder_id=", "string_too_short", "folder_id"),
        ("starred=perhaps", "bool_parsing", "starred"),
        ("start_date=2026-01-02&end_date=2026-01-01", "value_error", "end_date"),
    ] {
        let answer = bench.get(&format!("{P}/conversations?{query}")).await;
        assert_eq!(answer.status, 422, "{query}");
        assert_eq!(answer.kinds(), [(kind, &json!(["query", field]))], "{query}");
    }
}

#[tokio::test]
async fn conversation_patch_needs_a_field_and_visibility_hides_without_deleting() {
    let bench = Bench::new().await;
    let id = completed(&bench, "one").await;
    let path = format!("{P}/conversations/{id}");
    let empty = bench.ask(&bench.key, Method::PATCH, &path, Some(json!({ "other": 1 }))).await;
    assert_eq!(empty.kinds(), [("value_error", &json!(["body"]))]);
    let null = bench.ask(&bench.key, Method::PATCH, &path, Some(json!({ "title": null }))).await;
    assert_eq!(null.kinds(), [("string_type", &json!(["body", "title"]))]);
    let unfiled = bench.ask(&bench.key, Method::PATCH, &path, Some(json!({ "folder_id": "nowhere" }))).await;
    assert_eq!(unfiled.body, json!({ "detail": "Folder not found" }));
    let folders = bench.get(&format!("{P}/folders")).await;
    let change = json!({ "title": "Mine", "discarded": true, "folder_id": folders.body[0]["id"] });
    let changed = bench.ask(&bench.key, Method::PATCH, &path, Some(change)).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    assert_eq!(changed.body["structured"]["title"], "Mine");
    assert_eq!(changed.body["folder_name"], folders.body[0]["name"]);
    assert_eq!(bench.get(&format!("{P}/conversations")).await.body, json!([]));
    assert_eq!(bench.get(&path).await.status, 200);
}

/// It was 200, and took the conversation out of the folder in which it was.
#[tokio::test]
async fn filing_into_a_folder_that_is_deleted_meanwhile_is_404_and_changes_nothing() {
    let bench = Bench::new().await;
    let id = completed(&bench, "one").await;
    let path = format!("{P}/conversations/{id}");
    let folders = bench.get(&format!("{P}/folders")).await.body;
    let file = async |folder: &Value| {
        bench.ask(&bench.key, Method::PATCH, &path, Some(json!({ "folder_id": folder }))).await
    };
    assert_eq!(file(&folders[0]["id"]).await.status, 200);
    let doomed = folders[1]["id"].as_str().unwrap();
    let deleted = format!("delete from folders where folder_id = '{doomed}'");
    let answer = bench.database.overtaken_by(&deleted, file(&folders[1]["id"])).await;
    assert_eq!((answer.status.as_u16(), answer.body), (404, json!({ "detail": "Folder not found" })));
    assert_eq!(bench.get(&path).await.body["folder_id"], folders[0]["id"]);
}

#[tokio::test]
async fn other_users_conversations_are_404_on_every_route() {
    let bench = Bench::new().await;
    let id = completed(&bench, "one").await;
    let bob = bench.person("bob", api::Scope::ALL).await;
    let spoken = json!({ "transcript_segments": [{ "text": "a", "start": 0, "end": 1 }] });
    for (method, path, body) in [
        (Method::GET, format!("{P}/conversations/{id}"), None),
        (Method::PATCH, format!("{P}/conversations/{id}"), Some(json!({ "starred": true }))),
        (Method::DELETE, format!("{P}/conversations/{id}"), None),
        (Method::POST, format!("{P}/conversations/{id}/segments"), Some(spoken)),
        (Method::POST, format!("/v1/conversations/{id}/finalize"), None),
    ] {
        let answer = bench.ask(&bob, method.clone(), &path, body).await;
        assert_eq!(answer.status, 404, "{method} {path}");
        assert_eq!(answer.body, json!({ "detail": "Conversation not found" }));
    }
    let poll = bench.ask(&bob, Method::GET, &format!("/v1/conversations/{id}/finalization"), None).await;
    assert_eq!(
        (poll.status.as_u16(), &poll.body),
        (404, &json!({ "detail": "Conversation finalization job not found" }))
    );
    assert_eq!(bench.get(&format!("{P}/conversations/{id}")).await.status, 200, "and nothing has changed");
    assert_eq!(bench.get(&format!("{P}/conversations/a%00b")).await.status, 404);
}

#[tokio::test]
async fn other_lists_answer_arrays_and_check_their_limit() {
    let bench = Bench::new().await;
    for (list, limit) in [("action-items", 1_000), ("memories", 1_000), ("goals", 1_000)] {
        assert_eq!(bench.get(&format!("{P}/{list}?limit={limit}")).await.body, json!([]));
        let answer = bench.get(&format!("{P}/{list}?limit={}", limit + 1)).await;
        assert_eq!(answer.kinds(), [("less_than_equal", &json!(["query", "limit"]))]);
    }
    let folders = bench.get(&format!("{P}/folders")).await;
    let names: Vec<&Value> = folders.body.as_array().unwrap().iter().map(|folder| &folder["name"]).collect();
    assert_eq!(names, ["Work", "Personal", "Social"]);
    let fields: Vec<_> = folders.body[0].as_object().unwrap().keys().collect();
    let expected = [
        "id",
        "name",
        "description",
        "color",
        "icon",
        "order",
        "is_default",
        "is_system",
        "conversation_count",
        "created_at",
        "updated_at",
    ];
    assert_eq!(fields, expected);
}
