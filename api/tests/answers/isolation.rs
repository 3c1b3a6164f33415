//! Isolation: with another user's key, no record can be read, changed or guessed, on any route of the document, whether its id
//! is in the path, the body, a filter or a header.

use axum::http::Method;
use job::Queue;
use serde_json::{Value, json};

use crate::bench::{Answer, Bench, P};
use crate::document::{CHECKED_IN, parsed};

/// Part of everything that Ann sends; no other user may ever read it.
const MARK: &str = "zanzibar";

/// The ids of Ann's records, by path parameter.
type Ids = Vec<(&'static str, String)>;

/// Every operation of the document: method, path, and its example body.
pub(crate) fn operations() -> Vec<(Method, String, Option<Value>)> {
    let document = parsed(CHECKED_IN);
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        // Only the status is public: it holds no user data.
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

/// Creates one record of each kind for Ann.
async fn create_one_of_each(bench: &Bench) -> Ids {
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

/// Everything that Ann can read, except when her key was last used.
async fn owner_view(bench: &Bench, ids: &Ids) -> Vec<Value> {
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
    let ids = create_one_of_each(&bench).await;
    let before = owner_view(&bench, &ids).await;
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
            // Another user's record looks like one that does not exist.
            let nothing = bench.ask(&bob, method.clone(), &filled(&path, &unknown(&ids)), body).await;
            assert_eq!((answer.status, &answer.body), (nothing.status, &nothing.body), "{method} {path}");
        }
    }
    assert_eq!(before, owner_view(&bench, &ids).await, "what Ann has is as it was");
}

#[tokio::test]
async fn every_operation_without_a_key_is_401() {
    let bench = Bench::new().await;
    // The key of a browser's socket comes after its upgrade: `listen/handshake.rs`.
    for (method, path, body) in operations().into_iter().filter(|(_, path, _)| path != "/v4/web/listen") {
        let answer = bench.ask("lsk_no", method.clone(), &path.replace(['{', '}'], ""), body).await;
        assert_eq!(answer.status, 401, "{method} {path}");
        assert_eq!(answer.header("www-authenticate"), "Bearer", "{method} {path}");
    }
}

fn spoken(person: Option<&str>) -> Value {
    let segment =
        json!({ "text": "hello", "start": 0, "end": 1, "person_id": person, "speaker": "SPEAKER_02" });
    json!({ "transcript_segments": [segment], "client_session_id": "the same session" })
}

async fn create(bench: &Bench, key: &str, body: Value) -> String {
    let path = format!("{P}/conversations/from-segments");
    let made = bench.ask(key, Method::POST, &path, Some(body)).await;
    assert_eq!(made.status, 200, "{made:?}");
    bench.complete_all(Queue::Creation).await;
    made.body["id"].as_str().unwrap().to_owned()
}

async fn get(bench: &Bench, key: &str, path: &str) -> Answer {
    bench.ask(key, Method::GET, path, None).await
}

#[tokio::test]
async fn client_session_id_is_per_user() {
    let bench = Bench::new().await;
    let bob = bench.person("bob", api::Scope::ALL).await;
    let (anns, bobs) =
        (create(&bench, &bench.key, spoken(None)).await, create(&bench, &bob, spoken(None)).await);
    assert_ne!(anns, bobs);
    assert_eq!(create(&bench, &bench.key, spoken(None)).await, anns);
}

#[tokio::test]
async fn other_users_person_and_folder_ids_have_no_effect_in_bodies() {
    let bench = Bench::new().await;
    let bob = bench.person("bob", api::Scope::ALL).await;
    let tom = bench.post("/v1/users/me/people", json!({ "name": "Tom" })).await;
    let bobs = create(&bench, &bob, spoken(tom.body["id"].as_str())).await;
    let shown = get(&bench, &bob, &format!("{P}/conversations/{bobs}?include_transcript=true")).await;
    assert_eq!(shown.body["transcript_segments"][0]["speaker_name"], "Speaker 2");
    let listed = get(&bench, &bob, &format!("{P}/conversations?include_transcript=true")).await;
    assert_eq!(listed.body, json!([shown.body]));

    let folder = bench.get(&format!("{P}/folders")).await.body[0]["id"].clone();
    let path = format!("{P}/conversations/{bobs}");
    let filed = bench.ask(&bob, Method::PATCH, &path, Some(json!({ "folder_id": folder }))).await;
    let unknown = bench.ask(&bob, Method::PATCH, &path, Some(json!({ "folder_id": "nothing" }))).await;
    assert_eq!((filed.status, &filed.body["folder_id"]), (unknown.status, &unknown.body["folder_id"]));
    assert_eq!(
        (&filed.body["folder_id"], &filed.body["folder_name"]),
        (&Value::Null, &Value::Null),
        "{filed:?}"
    );
    let counted = bench.get(&format!("{P}/folders")).await;
    assert_eq!(counted.body[0]["conversation_count"], 0);
}

#[tokio::test]
async fn other_users_ids_match_nothing_in_filters_and_if_none_match() {
    let mut bench = Bench::new().await;
    let bob = bench.person("bob", api::Scope::ALL).await;
    let anns = create(&bench, &bench.key, spoken(None)).await;
    let folder = bench.get(&format!("{P}/folders")).await.body[0]["id"].as_str().unwrap().to_owned();
    let path = format!("{P}/conversations/{anns}");
    bench.ask(&bench.key, Method::PATCH, &path, Some(json!({ "folder_id": folder }))).await;
    for filter in
        [format!("conversations?folder_id={folder}"), format!("action-items?conversation_id={anns}")]
    {
        let answer = get(&bench, &bob, &format!("{P}/{filter}")).await;
        assert_eq!((answer.status.as_u16(), &answer.body), (200, &json!([])), "{filter}");
    }
    let tag = bench.get(&path).await.header("etag").to_owned();
    assert_eq!(bench.get_known(&path, &tag).await.status, 304);
    bench.key = bob;
    assert_eq!(bench.get_known(&path, &tag).await.status, 404);
    assert_eq!(bench.get_known(&path, "*").await.status, 404);
    assert_eq!(bench.get_known(&format!("/v1/conversations/{anns}/finalization"), "*").await.status, 404);
}

#[tokio::test]
async fn delivery_is_reachable_under_its_own_endpoint_only() {
    let bench = Bench::new().await;
    let hook = json!({ "url": "https://example.org/hook" });
    let anns = bench.post(&format!("{P}/webhooks"), hook.clone()).await.body["id"].clone();
    let anns = anns.as_str().unwrap();
    let test = bench.post(&format!("{P}/webhooks/{anns}/test"), json!({})).await.body["id"].clone();
    let bob = bench.person("bob", api::Scope::ALL).await;
    let bobs = bench.ask(&bob, Method::POST, &format!("{P}/webhooks"), Some(hook)).await.body["id"].clone();
    let (bobs, test) = (bobs.as_str().unwrap(), test.as_str().unwrap());
    let path = format!("{P}/webhooks/{bobs}/deliveries/{test}/redeliver");
    assert_eq!(bench.ask(&bob, Method::POST, &path, None).await.status, 404);
    assert_eq!(get(&bench, &bob, &format!("{P}/webhooks/{bobs}/deliveries")).await.body, json!([]));
}
