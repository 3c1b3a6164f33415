//! Table 1: admission over HTTP (key, conversation, job, commit) beside one-row inserts and a bare peer's
//! enqueue.

use std::net::SocketAddr;

use futures::future::join_all;

use crate::{
    drain::admit,
    figures::{costs, measured, median, of},
    http::Client,
    peers,
    setup::{INSERT, Setup, Stored, WIDTH, serve_on},
};

const JOBS: usize = 5_000;
const ROUNDS: usize = 3;

/// Prints the table.
pub(crate) async fn table(setup: &Setup) {
    peers::build().await;
    let (address, keys) = (serve_on(&setup.ledger).await, setup.keys().await);
    let (mut floors, mut ours, mut verbs) = (Vec::new(), Vec::new(), Vec::new());
    let (mut with_trigger, mut without) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        floors.push(pgbench(setup).await);
        let stored = setup.stored_many(&format!("http-{round}"), JOBS).await;
        ours.push(measured(setup, JOBS, over_http(address, &keys, &stored)).await);
        let stored = setup.stored_many(&format!("verb-{round}"), JOBS).await;
        verbs.push(measured(setup, JOBS, admit(setup, &stored)).await);
        with_trigger.push(pushed(setup, "on").await);
        without.push(pushed(setup, "off").await);
    }
    setup.forget_jobs().await;
    let (floor, peer, bare) = (median(floors), median(with_trigger), median(without));
    println!(
        "Admission, {WIDTH} producers, {JOBS} jobs, median of {ROUNDS} rounds (overrides: rate limit off)\n"
    );
    println!(
        "| | per second | to pgbench | to push_tasks, trigger on | trigger off | commits per job | WAL bytes per job | CPU ms per job (ours + server) |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let row = |name: &str, rate: f64, rest: &str| {
        println!(
            "| {name} | {rate:.0} | {:.2} | {:.2} | {:.2} | {rest} |",
            rate / floor,
            rate / peer,
            rate / bare
        );
    };
    row("admission over HTTP", of(&ours, |round| round.rate), &costs(&ours));
    row("admission by the ledger's verb", of(&verbs, |round| round.rate), &costs(&verbs));
    row("apalis-postgres push_tasks, trigger on", peer, "| |");
    row("apalis-postgres push_tasks, trigger off", bare, "| |");
    row("pgbench, bare one-row insert", floor, "| |");
    println!();
}

async fn over_http(address: SocketAddr, keys: &[String], stored: &[Stored]) {
    let clients = (0..WIDTH).map(|first| async move {
        let mut client = Client::connect(address).await;
        for (_, id) in stored.iter().skip(first).step_by(WIDTH) {
            // Conversations are dealt to people in turn, and so are keys.
            let number: usize = id.as_str().rsplit('-').next().unwrap().parse().unwrap();
            let path = format!("/v1/conversations/{}/finalize", id.as_str());
            assert_eq!(client.post(&path, &keys[number % keys.len()]).await, 200);
        }
    });
    join_all(clients).await;
}

async fn pushed(setup: &Setup, trigger: &str) -> f64 {
    let (jobs, width) = (JOBS.to_string(), WIDTH.to_string());
    let said = peers::run(setup, &["enqueue", &jobs, &width, trigger]).await;
    said["per_second"].as_f64().expect("a rate")
}

/// The floor: pgbench inserting one row per transaction from as many clients.
async fn pgbench(setup: &Setup) -> f64 {
    let url = setup.empty_database("floor").await;
    setup.run_on("floor", "create table floor (id bigserial primary key, word text not null)").await;
    setup.pgbench(&url, INSERT, &format!("--time={PGBENCH_SECONDS}")).await
}

/// How long pgbench asks.
pub(crate) const PGBENCH_SECONDS: f64 = 3.0;
