//! Start latency, open loop: from the commit of an admission to the start of its run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ledger::Claimed;
use tokio_util::sync::CancellationToken;
use worker::{Moment, Watch};

use crate::{drain::worker, house::House};

const SECONDS: usize = 5;

#[derive(Default)]
struct Starts(Mutex<HashMap<String, Instant>>);

impl Watch for Starts {
    fn see(&self, claimed: &Claimed, moment: Moment) {
        if moment == Moment::RunStarted {
            let id = claimed.conversation_id.as_str().to_owned();
            self.0.lock().unwrap().entry(id).or_insert_with(Instant::now);
        }
    }
}

/// Prints the table.
pub(crate) async fn table(house: &House) {
    println!("| start latency, worker in the same process | p50 ms | p99 ms | started |");
    println!("|---|---|---|---|");
    for rate in [100, 500] {
        let stored = house.stored_many(&format!("latency-{rate}"), rate * SECONDS).await;
        let starts = Arc::new(Starts::default());
        let (soft, hard) = (CancellationToken::new(), CancellationToken::new());
        let running = tokio::spawn(worker(house, starts.clone()).run(soft.clone(), hard));
        tokio::time::sleep(Duration::from_millis(500)).await;
        let mut clock = tokio::time::interval(Duration::from_secs_f64(1.0 / rate as f64));
        let mut producers = Vec::new();
        for (user, id) in stored {
            clock.tick().await;
            let ledger = house.ledger.clone();
            producers.push(tokio::spawn(async move {
                ledger.finalize(&user, &id, None).await.unwrap().unwrap();
                (id.as_str().to_owned(), Instant::now())
            }));
        }
        let committed: Vec<_> =
            futures::future::join_all(producers).await.into_iter().map(Result::unwrap).collect();
        tokio::time::sleep(Duration::from_secs(2)).await;
        soft.cancel();
        running.await.unwrap();
        let starts = starts.0.lock().unwrap();
        let mut waits: Vec<f64> = committed
            .iter()
            .filter_map(|(id, at)| {
                starts.get(id).map(|start| start.saturating_duration_since(*at).as_secs_f64() * 1e3)
            })
            .collect();
        waits.sort_by(f64::total_cmp);
        let at = |share: f64| waits[((waits.len() - 1) as f64 * share) as usize];
        println!(
            "| {rate} a second | {:.1} | {:.1} | {} of {} |",
            at(0.5),
            at(0.99),
            waits.len(),
            committed.len()
        );
    }
    println!();
}
