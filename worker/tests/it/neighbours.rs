//! Slow receivers of some users, and the deliveries of another one.

use std::time::{Duration, Instant};

use axum::{Router, http::StatusCode, routing::post};
use records::UserId;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_receivers_of_four_users_do_not_delay_the_deliveries_of_another() {
    let mut bench = Bench::new().await;
    let url = slow().await;
    let kim = bench.user.clone();
    for user in ["a", "b", "c", "d"] {
        bench.user = UserId::new(user);
        assert!(bench.ledger.store().create_user(&bench.user, &UserChange::default()).await.unwrap());
        for number in 0..20 {
            let id = format!("{user}{number}");
            bench.endpoint(&id, &url).await;
            for delivery in 0..8 {
                bench.test_delivery(&id, &format!("{id}-{delivery}")).await;
            }
        }
    }
    let mut alive = Receiver::answering(&[]).await;
    bench.user = kim;
    bench.endpoint("alive", &alive.url).await;
    let working = work(bench.ledger.clone(), &Script::open(), slots(1));

    // Beyond the first answers of the slow ones: what waits behind them must not take all that is free then either.
    let mut longest = Duration::ZERO;
    for number in 0..24 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let written = Instant::now();
        let id = format!("alive-{number}");
        bench.test_delivery("alive", &id).await;
        assert_eq!(alive.next().await.header("webhook-id"), id);
        longest = longest.max(written.elapsed());
    }
    println!("the longest took {longest:?}");
    assert!(longest < Duration::from_secs(2), "{longest:?}");
    working.hard.cancel();
}

/// More users than a process has tries under way, each with one receiver that says nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn receivers_of_hundreds_of_users_that_say_nothing_do_not_stop_the_deliveries_of_another() {
    let mut bench = Bench::new().await;
    let (mut silent, mut alive) = (Receiver::silent().await, Receiver::answering(&[]).await);
    let kim = bench.user.clone();
    for number in 0..280 {
        bench.user = UserId::new(format!("user {number}"));
        assert!(bench.ledger.store().create_user(&bench.user, &UserChange::default()).await.unwrap());
        bench.endpoint("silent", &silent.url).await;
        bench.test_delivery("silent", &format!("silent {number}")).await;
    }
    bench.user = kim;
    bench.endpoint("alive", &alive.url).await;
    let working = work(bench.ledger.clone(), &Script::open(), slots(1));
    for _ in 0..250 {
        silent.next().await;
    }
    // No try has been waited for in vain yet: each may take 15 seconds.
    for number in 0..3 {
        let (written, id) = (Instant::now(), format!("alive {number}"));
        bench.test_delivery("alive", &id).await;
        assert_eq!(alive.next().await.header("webhook-id"), id);
        assert!(written.elapsed() < Duration::from_secs(4), "{:?}", written.elapsed());
    }
    working.hard.cancel();
}
