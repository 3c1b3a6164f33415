//! Another person's ids where they are not in a path: in bodies, filters, batches and headers. They are worth no more
//! than ids of nothing.

use axum::http::Method;
use job::Queue;
use serde_json::{Value, json};

use crate::bench::{Answer, Bench, P};

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
