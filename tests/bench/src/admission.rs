//! Table 1: admission over HTTP (key, conversation, job, commit) beside one-row inserts and a bare peer's
//! enqueue.

use std::net::SocketAddr;

use embedded::Running;
use futures::{StreamExt, future::join_all, stream};
use tokio::process::Command;

use crate::{
    figures::{Round, measured, median, of},
    http::Client,
    peers,
    setup::{Setup, Stored, WIDTH, serve_on},
};

const JOBS: usize = 5_000;
const ROUNDS: usize = 3;

/// Prints the table.
pub(crate) async fn table(setup: &Setup) {
    peers::build().await;
    let (address, keys) = serve(setup).await;
    let (mut floors, mut ours, mut verbs) = (Vec::new(), Vec::new(), Vec::new());
    let (mut with_trigger, mut without) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        floors.push(pgbench(setup).await);
        let stored = setup.stored_many(&format!("http-{round}"), JOBS).await;
        ours.push(measured(setup, JOBS, over_http(address, &keys, &stored)).await);
        let stored = setup.stored_many(&format!("verb-{round}"), JOBS).await;
        verbs.push(measured(setup, JOBS, by_verb(setup, &stored)).await);
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
    let rest = |rounds: &[Round]| {
        let (commits, wal) = (of(rounds, |round| round.commits), of(rounds, |round| round.wal));
        let (own, server) = (of(rounds, |round| round.cpu.0), of(rounds, |round| round.cpu.1));
        format!("{commits:.2} | {wal:.0} | {own:.2} + {server:.2}")
    };
    row("admission over HTTP", of(&ours, |round| round.rate), &rest(&ours));
    row("admission by the ledger's verb", of(&verbs, |round| round.rate), &rest(&verbs));
    row("apalis-postgres push_tasks, trigger on", peer, "| |");
    row("apalis-postgres push_tasks, trigger off", bare, "| |");
    row("pgbench, bare one-row insert", floor, "| |");
    println!();
}

/// The service's own router on a port of its own, with a key for everybody.
async fn serve(setup: &Setup) -> (SocketAddr, Vec<String>) {
    (serve_on(&setup.ledger).await, setup.keys().await)
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

async fn by_verb(setup: &Setup, stored: &[Stored]) {
    stream::iter(stored)
        .for_each_concurrent(WIDTH, |(user, id)| async {
            setup.ledger.finalize(user, id, None, None).await.unwrap().unwrap();
        })
        .await;
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
    pgbench_of(setup, &url, "insert into floor (word) values ('one row');\n").await
}

/// How long pgbench asks.
pub(crate) const PGBENCH_SECONDS: f64 = 3.0;

/// What pgbench makes of a script a second, prepared, from as many clients.
pub(crate) async fn pgbench_of(setup: &Setup, url: &str, statements: &str) -> f64 {
    let running: &Running = setup.running();
    let script = std::env::temp_dir().join(format!("listen-bench-{}.sql", std::process::id()));
    std::fs::write(&script, statements).unwrap();
    let ran = Command::new(running.bin_dir().join("pgbench"))
        .args(["--no-vacuum", "--protocol=prepared", "--jobs=2"])
        .arg(format!("--time={PGBENCH_SECONDS}"))
        .arg(format!("--client={WIDTH}"))
        .arg("--file")
        .arg(&script)
        .arg(url)
        .output()
        .await
        .expect("pgbench comes with the server's programs");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    std::fs::remove_file(script).unwrap();
    let rate = said.lines().find_map(|line| line.strip_prefix("tps = "));
    rate.and_then(|rate| rate.split(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("pgbench said: {said}"))
}
