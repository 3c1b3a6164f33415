//! Several shards behind one front: keys route requests to their user's shard.

use api::Scope;
use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode, header},
};
use db::Shard;
use ledger::{Ledger, Shards};
use records::UserId;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::bench::{four_shards, person_in, quick, service};

/// A user of each of four shards, by shard number.
fn users(shards: &Shards) -> Vec<String> {
    let name = |number: u16| {
        let mut names = (0..).map(|name| format!("user-{name}"));
        let is_there = |name: &String| of(shards, name).db().shard().number == number;
        names.find(is_there).unwrap()
    };
    (0..4).map(name).collect()
}

fn of<'a>(shards: &'a Shards, user: &str) -> &'a Ledger {
    shards.of_user(&UserId::new(user))
}

async fn ask(
    app: &Router,
    key: &str,
    request: axum::http::request::Builder,
    body: Value,
) -> (StatusCode, Value) {
    let request =
        request.header("authorization", format!("Bearer {key}")).header("content-type", "application/json");
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    let answer = app.clone().oneshot(request.body(body).unwrap()).await.unwrap();
    let status = answer.status();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        assert!(answer.headers().contains_key(header::RETRY_AFTER));
    }
    let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

/// The user of the key, as the service reports it.
async fn whose(app: &Router, key: &str) -> (StatusCode, Value) {
    let (status, body) = ask(app, key, Request::get("/v1/users/me"), Value::Null).await;
    (status, body["id"].clone())
}

#[tokio::test]
async fn key_routes_to_its_users_shard_with_or_without_a_shard_digit() {
    let (_database, shards) = four_shards().await;
    let app = service(shards.clone(), quick());
    for user in users(&shards) {
        let ledger = of(&shards, &user);
        for said in [ledger.db().shard(), Shard::default()] {
            let key = person_in(ledger, &user, Scope::ALL, said).await;
            for _ in 0..2 {
                assert_eq!(whose(&app, &key).await, (StatusCode::OK, json!(user)), "{said:?}");
            }
        }
        // One that the service makes says it.
        let key = person_in(ledger, &user, Scope::ALL, ledger.db().shard()).await;
        let (status, made) =
            ask(&app, &key, Request::post("/v1/dev/keys"), json!({ "name": "one more" })).await;
        assert_eq!(status, StatusCode::OK, "{made}");
        let made = made["key"].as_str().unwrap();
        assert_eq!(made.get(4..6), Some(&*format!("0{}", ledger.db().shard().number)), "{made}");
    }
}

#[tokio::test]
async fn unknown_key_is_401_whatever_shard_it_names() {
    let (_database, shards) = four_shards().await;
    let app = service(shards.clone(), quick());
    for said in [Shard::default(), Shard { number: 3, of: 4 }, Shard { number: 700, of: 1_024 }] {
        let stranger = api::keys::generate([3; 32], said);
        let key = secrecy::ExposeSecret::expose_secret(&stranger.plaintext);
        assert_eq!(whose(&app, key).await.0, StatusCode::UNAUTHORIZED, "{said:?}");
    }
}

#[tokio::test]
async fn unavailable_shard_is_503_for_its_own_users_only() {
    let (_database, shards) = four_shards().await;
    let app = service(shards.clone(), quick());
    let mut keys = Vec::new();
    for user in users(&shards) {
        let ledger = of(&shards, &user);
        let plain = person_in(ledger, &user, Scope::ALL, Shard::default()).await;
        keys.push([person_in(ledger, &user, Scope::ALL, ledger.db().shard()).await, plain]);
    }
    shards.numbered(2).unwrap().db().close().await;
    for (number, keys) in keys.iter().enumerate() {
        let expected = if number == 2 { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
        for key in keys {
            assert_eq!(whose(&app, key).await.0, expected, "shard {number}");
        }
    }
}
