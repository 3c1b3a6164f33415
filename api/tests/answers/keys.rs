//! Keys that make keys.

use std::{io, time::Duration};

use api::{Scope, Settings};
use axum::{
    body::Body,
    http::{Method, Request},
};
use futures::stream;
use serde_json::json;
use tower::ServiceExt;

use crate::bench::{Bench, P, quick};

#[tokio::test]
async fn new_key_is_shown_once_works_and_is_revoked_at_once() {
    let bench = Bench::new().await;
    let made = bench.post("/v1/dev/keys", json!({ "name": "laptop" })).await;
    assert_eq!(made.status, 200, "{made:?}");
    let key = made.body["key"].as_str().unwrap();
    assert_eq!(
        made.body["scopes"],
        json!(["conversations:read", "action_items:read", "memories:read", "goals:read"])
    );
    assert_eq!(bench.ask(key, Method::GET, &format!("{P}/folders"), None).await.status, 200);
    let own = bench.ask(key, Method::GET, "/v1/dev/key", None).await;
    assert_eq!(own.body["id"], made.body["id"]);
    assert!(own.body.get("key").is_none());
    assert!(!bench.get("/v1/dev/keys").await.body.to_string().contains(key));

    let path = format!("/v1/dev/keys/{}", made.body["id"].as_str().unwrap());
    assert_eq!(bench.ask(&bench.key, Method::DELETE, &path, None).await.status, 204);
    assert_eq!(bench.ask(key, Method::GET, "/v1/dev/key", None).await.status, 401);
    let again = bench.ask(&bench.key, Method::DELETE, &path, None).await;
    assert_eq!((again.status.as_u16(), &again.body), (404, &json!({ "detail": "Key not found" })));
}

#[tokio::test]
async fn key_revoked_while_a_body_arrives_leaves_no_other_key_behind() {
    let bench = Bench::with(Settings { key_believed: Duration::ZERO, ..quick() }).await;
    for name in [None, Some("n")] {
        let lost = bench.post("/v1/dev/keys", json!({ "name": "lost", "scopes": ["keys:write"] })).await.body;
        let revoke = Request::delete(format!("/v1/dev/keys/{}", lost["id"].as_str().unwrap()))
            .header("authorization", format!("Bearer {}", bench.key));
        let (app, revoke) = (bench.app.clone(), revoke.body(Body::empty()).unwrap());
        // It is asked for once the key has let the request in.
        let body = Body::from_stream(stream::once(async move {
            assert_eq!(app.oneshot(revoke).await.unwrap().status(), 204);
            Ok::<_, io::Error>(json!({ "name": "left", "scopes": ["keys:write"] }).to_string())
        }));
        let mut request = Request::post("/v1/dev/keys")
            .header("authorization", format!("Bearer {}", lost["key"].as_str().unwrap()))
            .header("content-type", "application/json");
        if let Some(name) = name {
            request = request.header("idempotency-key", name);
        }
        let answer = bench.send(request.body(body).unwrap()).await;
        assert_eq!(answer.status, 401, "{answer:?}");
    }
    let keys = bench.get("/v1/dev/keys").await.body;
    assert!(keys.as_array().unwrap().iter().all(|key| key["name"] != "left"), "{keys}");
}

#[tokio::test]
async fn key_cannot_grant_scopes_it_lacks() {
    let bench = Bench::new().await;
    let poor = bench.person("ann", &[Scope::KeysWrite, Scope::MemoriesRead]).await;
    let ask = async |scopes| {
        let body = json!({ "name": "more", "scopes": scopes });
        bench.ask(&poor, Method::POST, "/v1/dev/keys", Some(body)).await
    };
    let denied = ask(json!(["memories:read", "memories:write"])).await;
    assert_eq!(denied.status, 403);
    assert_eq!(denied.body, json!({ "detail": "Missing required scope: memories:write" }));
    assert_eq!(ask(json!(["memories:read"])).await.status, 200);
    assert_eq!(ask(json!(["everything"])).await.kinds(), [("enum", &json!(["body", "scopes", 0]))]);
}

#[tokio::test]
async fn key_cannot_outlive_the_key_that_created_it() {
    let mut bench = Bench::new().await;
    let end = "2099-01-01T00:00:00Z";
    let brief =
        bench.post("/v1/dev/keys", json!({ "name": "a", "scopes": ["keys:write"], "expires_at": end })).await;
    bench.key = brief.body["key"].as_str().unwrap().to_owned();
    let ask = async |expires_at| {
        let body = json!({ "name": "b", "scopes": ["keys:write"], "expires_at": expires_at });
        bench.post("/v1/dev/keys", body).await
    };
    let later = ask(Some("2099-01-01T00:00:01Z")).await;
    assert_eq!(later.status, 422);
    assert_eq!(later.kinds(), [("value_error", &json!(["body", "expires_at"]))]);
    assert_eq!(ask(Some("2098-01-01T00:00:00Z")).await.body["expires_at"], "2098-01-01T00:00:00Z");
    assert_eq!(ask(Some(end)).await.body["expires_at"], end);
    assert_eq!(ask(None).await.body["expires_at"], end, "what is not said is not for ever");
}

#[tokio::test]
async fn key_that_has_expired_already_is_not_made() {
    let bench = Bench::new().await;
    let made = bench.get("/v1/dev/keys").await.body;
    for past in ["2020-01-01T00:00:00Z", "2020-01-01"] {
        let answer = bench.post("/v1/dev/keys", json!({ "name": "a", "expires_at": past })).await;
        assert_eq!(answer.status, 422, "{past}: {answer:?}");
        assert_eq!(answer.kinds(), [("value_error", &json!(["body", "expires_at"]))]);
        assert_eq!(answer.body["detail"][0]["msg"], "Value error, expires_at must be in the future");
    }
    let count = |keys: &serde_json::Value| keys.as_array().unwrap().len();
    assert_eq!(count(&bench.get("/v1/dev/keys").await.body), count(&made));
}

#[tokio::test]
async fn key_limit_of_a_hundred_is_409() {
    let bench = Bench::new().await;
    // With the bench's own there are 99 that live, and some that do not.
    let others = "insert into developer_keys (user_id, key_id, name, key_prefix, key_sha256, scopes, expires_at, revoked_at) \
        select 'ann', 'k' || n, 'k', 'k', sha256(n::text::bytea), '{}', \
            case when n > 98 then now() - interval '1 day' end, case when n > 100 then now() end \
        from generate_series(1, 105) n";
    bench.run(others).await;
    let last = bench.post("/v1/dev/keys", json!({ "name": "last" })).await;
    assert_eq!(last.status, 200, "{last:?}");
    let more = bench.post("/v1/dev/keys", json!({ "name": "more" })).await;
    assert_eq!(
        (more.status.as_u16(), &more.body["detail"]),
        (409, &json!("There are 100 live keys already"))
    );
    let path = format!("/v1/dev/keys/{}", last.body["id"].as_str().unwrap());
    assert_eq!(bench.ask(&bench.key, Method::DELETE, &path, None).await.status, 204);
    assert_eq!(bench.post("/v1/dev/keys", json!({ "name": "more" })).await.status, 200);
}
