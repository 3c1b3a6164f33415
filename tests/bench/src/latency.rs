//! Table 3: start latency, open loop: from the commit of an admission to the start of its run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ledger::{Ledger, StoredJob};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use worker::{RunEvent, RunObserver};

use crate::{drain::worker, figures::percentiles, peers, setup::Setup};

const SECONDS: usize = 5;
const RATES: [usize; 2] = [100, 500];

#[derive(Default)]
struct Starts(Mutex<HashMap<String, Instant>>);

impl RunObserver for Starts {
    fn observe(&self, claimed: &StoredJob, event: RunEvent) {
        if event == RunEvent::RunStarted {
            let id = claimed.conversation_id.as_str().to_owned();
            self.0.lock().unwrap().entry(id).or_insert_with(Instant::now);
        }
    }
}

/// Prints the table.
pub(crate) async fn table(setup: &Setup) {
    peers::build().await;
    println!("Start latency, open loop for {SECONDS} s\n");
    println!("| | a second | p50 ms | p99 ms | started |");
    println!("|---|---|---|---|---|");
    for rate in RATES {
        ours(setup, rate, "worker in the same process", &setup.ledger.clone()).await;
        let other = setup.other_process();
        let carrying = [&setup.ledger, &other].map(|ledger| {
            let ledger = ledger.clone();
            tokio::spawn(async move { ledger.db().carry_wakes().await })
        });
        ours(setup, rate, "worker behind another ledger (notified, as another process is)", &other).await;
        carrying.iter().for_each(tokio::task::JoinHandle::abort);
        for (mode, name) in
            [("pubsub", "apalis-postgres, pubsub"), ("poll", "apalis-postgres, pubsub and polling 100 ms")]
        {
            let said = peers::run(setup, &["latency", &rate.to_string(), &SECONDS.to_string(), mode]).await;
            let ms = |figure: &Value| figure.as_f64().map_or("-".to_owned(), |ms| format!("{ms:.1}"));
            println!(
                "| {name} | {rate} | {} | {} | {} of {} |",
                ms(&said["p50"]),
                ms(&said["p99"]),
                said["started"],
                said["of"]
            );
        }
    }
    println!();
}

/// Admits through `producer` at a steady rate, and prints how long runs took to start.
async fn ours(setup: &Setup, rate: usize, name: &str, producer: &Ledger) {
    let stored = setup.stored_many(&format!("latency-{rate}-{}", name.len()), rate * SECONDS).await;
    let starts = Arc::new(Starts::default());
    let (soft, hard) = (CancellationToken::new(), CancellationToken::new());
    let running = tokio::spawn(worker(setup, starts.clone()).run(soft.clone(), hard));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut clock = tokio::time::interval(Duration::from_secs_f64(1.0 / rate as f64));
    let mut producers = Vec::new();
    for (user, id) in stored {
        clock.tick().await;
        let ledger = producer.clone();
        producers.push(tokio::spawn(async move {
            ledger.finalize(&user, &id, None, None).await.unwrap().unwrap();
            (id.as_str().to_owned(), Instant::now())
        }));
    }
    let committed: Vec<_> =
        futures::future::join_all(producers).await.into_iter().map(Result::unwrap).collect();
    tokio::time::sleep(Duration::from_secs(2)).await;
    soft.cancel();
    running.await.unwrap();
    let starts = starts.0.lock().unwrap();
    let wait = |(id, at): &(String, Instant)| {
        Some(starts.get(id)?.saturating_duration_since(*at).as_secs_f64() * 1e3)
    };
    let waits: Vec<f64> = committed.iter().filter_map(wait).collect();
    let started = waits.len();
    let (p50, p99) = percentiles(waits).expect("some run started");
    println!("| {name} | {rate} | {p50:.1} | {p99:.1} | {started} of {} |", committed.len());
}
