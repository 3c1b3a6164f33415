//! Slow receivers of some users, and the deliveries of another one.

use std::time::{Duration, Instant};

use axum::{Router, http::StatusCode, routing::post};
use outbox::NewEndpoint;
use records::{EventKind, UserId, WebhookFormat};
use store::UserChange;
use tokio::net::TcpListener;

use crate::{
    bench::{Bench, slots, work},
    engines::Script,
    receiver::Receiver,
};

/// The URL of a receiver that answers 200, after ten seconds.
async fn slow() -> String {
    let answer = || async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        StatusCode::OK
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/hook", post(answer))).await });
    url
}

async fn endpoint(bench: &Bench, user: &UserId, id: &str, url: &str) {
    let new = NewEndpoint {
        force: true,
        id: id.to_owned(),
        url: url.to_owned(),
        events: vec![EventKind::ConversationCompleted],
        format: WebhookFormat::Full,
        secret: outside::new_secret([7; 32]),
    };
    bench.ledger.outbox().create_endpoint(user, &new).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_receivers_of_four_users_do_not_delay_the_deliveries_of_another() {
    let bench = Bench::new().await;
    let url = slow().await;
    for user in ["a", "b", "c", "d"] {
        let user = UserId::new(user);
        assert!(bench.ledger.store().create_user(&user, &UserChange::default()).await.unwrap());
        for number in 0..20 {
            let id = format!("{user}{number}");
            endpoint(&bench, &user, &id, &url).await;
            for delivery in 0..8 {
                let delivery = format!("{id}-{delivery}");
                bench.ledger.outbox().test_delivery(&user, &id, &delivery).await.unwrap().unwrap();
            }
        }
    }
    let mut alive = Receiver::answering(&[]).await;
    endpoint(&bench, &bench.user, "alive", &alive.url).await;
    let working = work(bench.ledger.clone(), &Script::open(), slots(1));

    // Beyond the first answers of the slow ones: what waits behind them must not take all that is free then either.
    let mut longest = Duration::ZERO;
    for number in 0..24 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let written = Instant::now();
        let id = format!("alive-{number}");
        bench.ledger.outbox().test_delivery(&bench.user, "alive", &id).await.unwrap().unwrap();
        assert_eq!(alive.next().await.header("webhook-id"), id);
        longest = longest.max(written.elapsed());
    }
    println!("the longest took {longest:?}");
    assert!(longest < Duration::from_secs(2), "{longest:?}");
    working.hard.cancel();
}
