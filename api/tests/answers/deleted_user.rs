//! Requests that meet their user's deletion: let in by a key that was good, they find no user to write for.

use api::Scope;
use axum::http::Method;
use serde_json::{Value, json};

use crate::bench::{Bench, P};
use crate::idempotency::creates;

/// Every request that writes something of a user's who has nothing yet.
fn writes() -> Vec<(Method, String, Value)> {
    let segments = json!({ "transcript_segments": [{ "text": "Call Tom.", "start": 0, "end": 1 }] });
    let mut deferred = segments.clone();
    deferred["defer_processing"] = true.into();
    let others = [
        (Method::POST, format!("{P}/conversations"), json!({ "text": "Call Tom." })),
        (Method::POST, format!("{P}/conversations/from-segments"), segments),
        (Method::POST, format!("{P}/conversations/from-segments"), deferred),
        (Method::POST, "/v2/messages".to_owned(), json!({ "text": "What did I promise Tom?" })),
        (Method::POST, "/v1/apps".to_owned(), json!({ "name": "Tasks" })),
        (
            Method::POST,
            "/v1/users/developer/webhook/audio_bytes".to_owned(),
            json!({ "url": "https://example.com" }),
        ),
        (Method::PATCH, "/v1/users/me".to_owned(), json!({ "name": "Ann" })),
        (Method::PATCH, "/v1/users/geolocation".to_owned(), json!({ "latitude": 1, "longitude": 1 })),
    ];
    creates().into_iter().map(|(path, body, _)| (Method::POST, path, body)).chain(others).collect()
}

#[tokio::test]
async fn write_that_meets_its_users_deletion_is_401_as_with_a_revoked_key() {
    let bench = Bench::new().await;
    for (number, (method, path, body)) in writes().into_iter().enumerate() {
        let user = format!("user-{number}");
        let key = bench.person(&user, Scope::ALL).await;
        let deletion = format!("delete from users where user_id = '{user}'");
        let write = bench.ask(&key, method, &path, Some(body));
        let answer = bench.database.overtaken_by(&deletion, write).await;
        assert_eq!(answer.status, 401, "{path}: {answer:?}");
        assert_eq!(answer.header("www-authenticate"), "Bearer", "{path}");
        assert_eq!(answer.body, json!({ "detail": "Not authenticated" }), "{path}");
    }
}

#[tokio::test]
async fn create_for_a_user_who_is_being_deleted_is_401() {
    let bench = Bench::new().await;
    let mark = "update users set deleting_since = now() where user_id = 'ann'";
    let path = format!("{P}/conversations");
    let create = bench.post(&path, json!({ "text": "Call Tom." }));
    let answer = bench.database.overtaken_by(mark, create).await;
    assert_eq!(answer.status, 401, "{answer:?}");
}

#[tokio::test]
async fn app_whose_user_is_deleted_the_moment_it_is_stored_is_answered_as_it_was_made() {
    let bench = Bench::new().await;
    let deletes_its_user = "create function delete_owner() returns trigger language plpgsql as \
         'begin delete from users where user_id = new.user_id; return null; end'; \
         create constraint trigger deletes_owner after insert on apps deferrable initially deferred \
         for each row execute function delete_owner()";
    bench.run(deletes_its_user).await;
    let answer = bench.post("/v1/apps", json!({ "name": "Tasks" })).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body["name"], "Tasks");
    assert_eq!(bench.get("/v1/apps").await.status, 401, "with its user");
}
