//! Finalizations that are delivered to the run route, beside those that workers claim by themselves in the same run; and the check of a
//! token.

use std::{
    fmt,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use api::NotInvoker;
use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use job::{Generation, JobId};
use ledger::Delivered;
use prometheus::{IntCounter, Registry};
use task_queue::{Claims, Emulator, INVOKER, Options, Signer};
use tasks::{Expected, Keys, Verifier};
use tokio_util::sync::CancellationToken;
use worker::{DeliveredRuns, Settings};

use crate::{
    drain,
    figures::{Round, costs, measured, of},
    http::Client,
    idle,
    setup::{self, Setup, WIDTH, router_on},
};

const JOBS: usize = 10_000;
const ROUNDS: usize = 3;
/// How often a token is checked.
const CHECKS: u32 = 10_000;
const AUDIENCE: &str = "https://listen.example/run";
/// When all of it happens, in seconds since 1970.
const NOW: i64 = 1_800_000_000;

/// Prints the table.
pub(crate) async fn table(setup: &Setup) {
    let emulator = Emulator::start(Options::default()).await.unwrap();
    let verifier = verifier(&emulator);
    let token = token(&emulator.signer().unwrap());
    let began = Instant::now();
    for _ in 0..CHECKS {
        verifier.check(Some(&token)).await.unwrap();
    }
    let check = began.elapsed().as_secs_f64() * 1e3 / f64::from(CHECKS);
    let (mut claimed, mut delivered) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let stored = setup.stored_many(&format!("claimed-{round}"), JOBS).await;
        drain::admit(setup, &stored).await;
        claimed.push(measured(setup, JOBS, drain::drain(setup)).await);
        setup.forget_jobs().await;
        let stored = setup.stored_many(&format!("delivered-{round}"), JOBS).await;
        drain::admit(setup, &stored).await;
        delivered.push(measured(setup, JOBS, deliver(setup, &verifier, &token)).await);
        setup.forget_jobs().await;
    }
    println!(
        "Finalizations that are delivered over HTTP with an identity token, beside those that a worker claims, an engine that costs \
         nothing, {WIDTH} at once, {JOBS} jobs, median of {ROUNDS} rounds; one check of a token: {check:.3} ms\n"
    );
    println!(
        "| | per second | to claimed | commits per job | WAL bytes per job | CPU ms per job (ours + server) |"
    );
    println!("|---|---|---|---|---|---|");
    let floor = of(&claimed, |round| round.rate);
    print("claimed by a worker (`postgres`)", &claimed, floor);
    print("delivered to the run route", &delivered, floor);
    println!();
}

fn print(name: &str, rounds: &[Round], floor: f64) {
    let rate = of(rounds, |round| round.rate);
    println!("| {name} | {rate:.0} | {:.2} | {} |", rate / floor, costs(rounds));
}

/// Delivers every job that is queued, by as many clients as there are slots.
async fn deliver(setup: &Setup, verifier: &Verifier, token: &str) {
    let jobs: Vec<String> =
        sqlx::query_scalar("select job_id from finalization_jobs where status = 'queued' order by ready_at")
            .fetch_all(&setup.pool)
            .await
            .unwrap();
    assert_eq!(jobs.len(), JOBS);
    let settings = Settings { finalization_concurrency: WIDTH, ..Settings::default() };
    let metrics = worker::Metrics::new(&Registry::new()).unwrap();
    let runs = DeliveredRuns::new(setup.ledger.clone(), idle::engines(), metrics, &settings);
    let (soft, hard) = (CancellationToken::new(), CancellationToken::new());
    let running = tokio::spawn(runs.clone().run(soft.clone(), hard));
    let address = serve(setup, verifier, runs).await;
    let next = AtomicUsize::new(0);
    stream::iter(0..WIDTH)
        .for_each_concurrent(WIDTH, |_| async {
            let mut client = Client::connect(address).await;
            while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let body = format!(r#"{{"job_id": "{job}", "dispatch_generation": 1}}"#);
                let path = "/v1/conversation-finalization-jobs/run";
                assert_eq!(client.post_json(path, token, &body).await, 200);
            }
        })
        .await;
    soft.cancel();
    running.await.unwrap();
    let undone = "select count(*) from finalization_jobs where status <> 'completed' or runs <> 1";
    let undone: i64 = sqlx::query_scalar(undone).fetch_one(&setup.pool).await.unwrap();
    assert_eq!(undone, 0, "a run with losses is not a number");
}

async fn serve(setup: &Setup, verifier: &Verifier, runs: DeliveredRuns) -> SocketAddr {
    let settings = api::Settings {
        invokers: Arc::new(Port(verifier.clone())),
        deliveries: Arc::new(Port(runs)),
        only_deliveries: true,
        ..api::Settings::default()
    };
    setup::serve(router_on(&setup.ledger, settings)).await
}

fn verifier(emulator: &Emulator) -> Verifier {
    let metrics = tasks::Metrics::new(&Registry::new(), IntCounter::new("failed", "help").unwrap()).unwrap();
    let keys = Keys::new(&emulator.keys_url().parse().unwrap(), metrics.clone()).unwrap();
    let expected = Expected {
        issuers: vec!["https://accounts.google.com".to_owned()],
        audience: AUDIENCE.to_owned(),
        invoker: INVOKER.to_owned(),
        invoker_sub: None,
    };
    Verifier::new(Some((expected, keys)), Arc::new(|| NOW as f64), metrics)
}

fn token(signer: &Signer) -> String {
    signer.sign(&Claims {
        issuer: "https://accounts.google.com".to_owned(),
        audience: AUDIENCE.to_owned(),
        email: INVOKER.to_owned(),
        email_verified: true,
        issued_at: NOW,
        expires_at: NOW + 3_600,
    })
}

/// Ties what is measured to the ports of the API, as the binary does.
struct Port<T>(T);

impl<T> fmt::Debug for Port<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Port")
    }
}

impl api::Invokers for Port<Verifier> {
    fn check<'a>(&'a self, token: Option<&'a str>) -> BoxFuture<'a, Result<(), NotInvoker>> {
        self.0.check(token).map(|checked| checked.map_err(|_| NotInvoker::NotAuthenticated)).boxed()
    }
}

impl api::Deliveries for Port<DeliveredRuns> {
    fn deliver(&self, job: JobId, generation: Generation) -> BoxFuture<'_, Delivered> {
        async move { self.0.deliver(&job, generation).await }.boxed()
    }
}
