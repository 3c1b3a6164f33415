//! A second person's key can neither see, change nor guess anything of the first one's, on any route of the document.

use axum::http::Method;
use job::Queue;
use serde_json::{Value, json};

use crate::bench::{Bench, P};
use crate::document::{CHECKED_IN, parsed};

/// In everything that Ann sends; no other user may ever read it.
const MARK: &str = "zanzibar";

/// What a path's parameters stand for, among what Ann has.
type Ids = Vec<(&'static str, String)>;

/// An operation: method, path, and an example of what is sent.
pub(crate) fn operations() -> Vec<(Method, String, Option<Value>)> {
    let document = parsed(CHECKED_IN);
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        // The status alone is for everybody: it says nothing of anybody.
        for (method, operation) in methods.as_object().unwrap().iter().filter(|_| path != "/v1/status") {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let example = operation["requestBody"]["content"]["application/json"].get("example").cloned();
            operations.push((method, path.clone(), example));
        }
    }
    assert!(operations.len() > 40, "the document was found");
    operations
}

fn filled(path: &str, ids: &Ids) -> String {
    let path = if path.ends_with("/search") { format!("{path}?q={MARK}") } else { path.to_owned() };
    ids.iter().fold(path, |path, (name, id)| path.replace(&format!("{{{name}}}"), id))
}

fn unknown(ids: &Ids) -> Ids {
    ids.iter().map(|(name, _)| (*name, "01993b1e-0000-7000-8000-000000000000".to_owned())).collect()
}

async fn created(bench: &Bench, path: &str, body: Value) -> String {
    let answer = bench.post(path, body).await;
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    answer.body["id"].as_str().unwrap().to_owned()
}

/// Gives Ann one of everything.
async fn furnish(bench: &Bench) -> Ids {
    let segments = json!({ "transcript_segments": [{ "text": MARK, "start": 0, "end": 1 }] });
    let conversation = created(bench, &format!("{P}/conversations/from-segments"), segments).await;
    bench.complete_all(Queue::Creation).await;
    let title = json!({ "title": MARK });
    bench.ask(&bench.key, Method::PATCH, &format!("{P}/conversations/{conversation}"), Some(title)).await;
    let endpoint =
        created(bench, &format!("{P}/webhooks"), json!({ "url": format!("https://{MARK}.example") })).await;
    let audio = json!({ "url": format!("https://{MARK}.example/audio") });
    bench.post("/v1/users/developer/webhook/audio_bytes", audio).await;
    let delivery = created(bench, &format!("{P}/webhooks/{endpoint}/test"), json!({})).await;
    vec![
        ("conversation_id", conversation),
        ("endpoint_id", endpoint),
        ("delivery_id", delivery),
        (
            "action_item_id",
            created(bench, &format!("{P}/action-items"), json!({ "description": MARK })).await,
        ),
        ("memory_id", created(bench, &format!("{P}/memories"), json!({ "content": MARK })).await),
        ("goal_id", created(bench, &format!("{P}/goals"), json!({ "title": MARK, "target_value": 1 })).await),
        ("app_id", created(bench, "/v1/apps", json!({ "name": MARK })).await),
        ("person_id", created(bench, "/v1/users/me/people", json!({ "name": MARK })).await),
        ("key_id", created(bench, "/v1/dev/keys", json!({ "name": MARK })).await),
        (
            "subscription_id",
            created(
                bench,
                "/v1/users/me/push-subscriptions",
                json!({ "kind": "webhook", "url": format!("https://{MARK}.example") }),
            )
            .await,
        ),
    ]
}

/// Everything that Ann can see of her own, but for when her key was last used.
async fn hers(bench: &Bench, ids: &Ids) -> Vec<Value> {
    let mut seen = Vec::new();
    for (method, path, _) in operations() {
        let is_read = method == Method::GET && !path.starts_with("/v4/");
        if is_read && !path.starts_with("/v1/dev/key") && !path.ends_with("/key") {
            let answer = bench.get(&filled(&path, ids)).await;
            assert_eq!(answer.status, 200, "{path}");
            seen.push(answer.body);
        }
    }
    seen
}

#[tokio::test]
async fn other_users_can_neither_read_change_nor_guess_any_record() {
    let bench = Bench::new().await;
    let ids = furnish(&bench).await;
    let before = hers(&bench, &ids).await;
    let bob = bench.person("bob", api::Scope::ALL).await;
    for (method, path, body) in operations() {
        let answer = bench.ask(&bob, method.clone(), &filled(&path, &ids), body.clone()).await;
        let text = answer.body.to_string();
        assert!(!text.contains(MARK), "{method} {path}: {text}");
        for (name, id) in &ids {
            assert!(!text.contains(id.as_str()), "{method} {path} tells Bob Ann's {name}: {text}");
        }
        if path.contains('{') {
            assert_eq!(answer.status, 404, "{method} {path}: {text}");
            // What exists and is another's looks like what does not exist.
            let nothing = bench.ask(&bob, method.clone(), &filled(&path, &unknown(&ids)), body).await;
            assert_eq!((answer.status, &answer.body), (nothing.status, &nothing.body), "{method} {path}");
        }
    }
    assert_eq!(before, hers(&bench, &ids).await, "what Ann has is as it was");
}

#[tokio::test]
async fn every_operation_without_a_key_is_401() {
    let bench = Bench::new().await;
    // The key of a browser's socket comes after its upgrade: `listen/doors.rs`.
    for (method, path, body) in operations().into_iter().filter(|(_, path, _)| path != "/v4/web/listen") {
        let answer = bench.ask("lsk_no", method.clone(), &path.replace(['{', '}'], ""), body).await;
        assert_eq!(answer.status, 401, "{method} {path}");
        assert_eq!(answer.header("www-authenticate"), "Bearer", "{method} {path}");
    }
}
