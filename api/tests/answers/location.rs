//! Where a user is, for the tools of apps.

use axum::http::Method;
use records::UserId;
use serde_json::json;

use crate::bench::{Bench, P};

#[tokio::test]
async fn user_location_is_stored_validated_and_deleted() {
    let bench = Bench::new().await;
    let here = json!({ "latitude": 52.5, "longitude": 13.4, "address": "Berlin" });
    for _ in 0..2 {
        assert_eq!(bench.patch("/v1/users/geolocation", here.clone()).await.body, json!({ "status": "ok" }));
    }
    let ann = UserId::new("ann");
    assert_eq!(
        bench.ledger.store().location(&ann).await.unwrap().unwrap().address.as_deref(),
        Some("Berlin")
    );
    let outside = bench.patch("/v1/users/geolocation", json!({ "latitude": 91, "longitude": 13.4 })).await;
    assert_eq!(outside.kinds(), [("less_than_equal", &json!(["body", "latitude"]))]);
    assert!(bench.ledger.store().location(&ann).await.unwrap().is_some(), "nothing changed");
    assert_eq!(bench.ask(&bench.key, Method::DELETE, "/v1/users/geolocation", None).await.status, 200);
    assert_eq!(bench.ledger.store().location(&ann).await.unwrap(), None);
    let talk =
        json!({ "text": "We met at the office today", "geolocation": { "latitude": 1, "longitude": 2 } });
    bench.post(&format!("{P}/conversations"), talk).await;
    assert_eq!(
        bench.ledger.store().location(&ann).await.unwrap().unwrap().latitude,
        1.0,
        "a conversation says it, too"
    );
}

#[tokio::test]
async fn repeated_and_old_creates_do_not_say_where_the_user_is() {
    let bench = Bench::new().await;
    let ann = UserId::new("ann");
    let latitude = async || bench.ledger.store().location(&ann).await.unwrap().map(|place| place.latitude);
    let spoken = json!([{ "text": "Hello there", "start": 0, "end": 1 }]);
    let from_segments = format!("{P}/conversations/from-segments");
    let past = json!({
        "transcript_segments": spoken, "finished_at": "2026-01-01T10:00:00Z",
        "geolocation": { "latitude": 7, "longitude": 2 },
    });
    assert_eq!(bench.post(&from_segments, past).await.status, 200);
    assert_eq!(latitude().await, None, "it ended long ago");
    let talk = json!({
        "transcript_segments": spoken, "client_session_id": "s", "geolocation": { "latitude": 1, "longitude": 2 },
    });
    bench.post(&from_segments, talk.clone()).await;
    assert_eq!(latitude().await, Some(1.0));
    bench.patch("/v1/users/geolocation", json!({ "latitude": 3, "longitude": 4 })).await;
    bench.post(&from_segments, talk.clone()).await;
    assert_eq!(latitude().await, Some(3.0), "the user has moved on");
    bench.ask(&bench.key, Method::DELETE, "/v1/users/geolocation", None).await;
    bench.post(&from_segments, talk).await;
    assert_eq!(latitude().await, None, "what was forgotten stays forgotten");
}
