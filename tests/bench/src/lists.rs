//! Table 5: reading and creating over HTTP: lists of a person who has 100,000 conversations, beside the same statement
//! through pgbench and beside an answer that makes no query; what an offset costs; and a create from 500 segments.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use api::Scope;
use axum::{Router, routing::get};
use futures::future::join_all;
use records::UserId;
use serde_json::{Value, json};
use store::{ConversationFilter, DatePage};
use tokio_util::sync::CancellationToken;

use crate::{
    admission::PGBENCH_SECONDS,
    drain::{RunCounter, worker},
    figures::{median, percentiles},
    http::Client,
    setup::{self, Setup, WIDTH, cpu_of, key_of, router_on},
};

const STORED: i64 = 100_000;
const ROUNDS: usize = 3;
const SECONDS: Duration = Duration::from_secs(3);
const CREATES: usize = 200;
const LIST: &str = "/v1/dev/user/conversations";

/// Whose conversations they are.
const PERSON: &str = "bench-0";

/// Prints the table.
pub(crate) async fn table(setup: &Setup) {
    fill(setup).await;
    let (address, key) = serve(setup).await;
    lists(setup, address, &key).await;
    offsets(setup, address, &key).await;
    create(setup, address, &key).await;
}

/// 100,000 conversations of one person and 31,500 of 63 others, with two action items and ten segments each.
async fn fill(setup: &Setup) {
    for statement in [
        "insert into folders (user_id, folder_id, name) select user_id, user_id || '-bench', 'Bench' from users",
        "insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, finished_at, \
             language, source, status, title, overview, category, folder_id) \
         select 'bench-' || who, gen_random_uuid(), t, t, t, t, 'en', 'phone', 'completed', 'Matter ' || n, \
             repeat('They spoke of it at some length. ', 8), 'work', \
             case when n % 3 = 0 then 'bench-' || who || '-bench' end \
         from generate_series(1, 131500) n, \
             lateral (select case when n <= 100000 then 0 else 1 + n % 63 end as who) whose, \
             lateral (select now() - make_interval(mins => n) as t) times",
        "insert into action_items (user_id, action_item_id, description, created_at, updated_at, conversation_id) \
         select user_id, gen_random_uuid(), 'Send the report to Bob by Friday', created_at, created_at, \
             conversation_id from conversations, generate_series(1, 2) where title like 'Matter %'",
        "insert into transcript_segments (user_id, conversation_id, position, content, speaker, speaker_id, is_user, \
             start_seconds, end_seconds) \
         select user_id, conversation_id, p, 'I need to call the dentist by Friday, and then we shall see.', \
             'SPEAKER_00', 0, p % 2 = 0, p, p + 1 from conversations, generate_series(0, 9) p \
         where title like 'Matter %'",
        "vacuum analyze",
    ] {
        sqlx::raw_sql(statement).execute(&setup.pool).await.unwrap();
    }
}

/// The service's router, with a route beside it that makes no query, and a key of the user's.
async fn serve(setup: &Setup) -> (SocketAddr, String) {
    let settings = api::Settings { rate_per_minute: 0, ..api::Settings::default() };
    let router = Router::new().route("/livez", get(async || "ok\n"));
    let address = setup::serve(router.merge(router_on(&setup.ledger, settings))).await;
    (address, key_of(&setup.ledger, &UserId::new(PERSON), [42; 32], Scope::ALL).await)
}

/// What as many clients as there are got of one path: how many a second, how long each waited, and the milliseconds of
/// processor that one answer took here (its client included) and in the server.
struct Measured {
    rate: f64,
    waits: Vec<f64>,
    cpu: (f64, f64),
}

async fn measure(setup: &Setup, address: SocketAddr, key: &str, path: &str, rows: Option<usize>) -> Measured {
    let before = (cpu_of("self"), setup.server_cpu());
    let began = Instant::now();
    let clients = (0..WIDTH).map(|_| async {
        let mut client = Client::connect(address).await;
        let mut waits = Vec::new();
        while began.elapsed() < SECONDS {
            let asked = Instant::now();
            assert_eq!(client.get(path, key).await, 200, "{path}");
            waits.push(asked.elapsed().as_secs_f64() * 1e3);
        }
        if let Some(rows) = rows {
            let page: Value = serde_json::from_slice(client.body()).unwrap();
            assert_eq!(page.as_array().map(Vec::len), Some(rows), "{path}");
        }
        waits
    });
    let waits = join_all(clients).await.concat();
    let answers = waits.len() as f64;
    let rate = answers / began.elapsed().as_secs_f64();
    let cpu = ((cpu_of("self") - before.0) / answers, (setup.server_cpu() - before.1) / answers);
    Measured { rate, waits, cpu }
}

async fn lists(setup: &Setup, address: SocketAddr, key: &str) {
    let pages = [(25, false), (100, false), (25, true), (100, true)];
    let mut measured: Vec<Vec<Measured>> = pages.iter().map(|_| Vec::new()).collect();
    let (mut bare, mut floors) = (Vec::new(), [Vec::new(), Vec::new()]);
    for _ in 0..ROUNDS {
        bare.push(measure(setup, address, key, "/livez", None).await);
        for (floor, limit) in floors.iter_mut().zip([25, 100]) {
            let before = (cpu_of("self"), setup.server_cpu());
            let rate =
                setup.pgbench(&setup.url(), &statement(limit), &format!("--time={PGBENCH_SECONDS}")).await;
            let asked = rate * PGBENCH_SECONDS;
            let cpu = ((cpu_of("self") - before.0) / asked, (setup.server_cpu() - before.1) / asked);
            floor.push(Measured { rate, waits: Vec::new(), cpu });
        }
        for (page, (limit, with_transcript)) in measured.iter_mut().zip(pages) {
            let path = format!("{LIST}?limit={limit}&include_transcript={with_transcript}");
            page.push(measure(setup, address, key, &path, Some(limit)).await);
        }
    }
    let rate = |rounds: &[Measured]| median(rounds.iter().map(|round| round.rate).collect());
    let cpu = |rounds: &[Measured]| {
        let ours = median(rounds.iter().map(|round| round.cpu.0).collect());
        let servers = median(rounds.iter().map(|round| round.cpu.1).collect());
        format!("{ours:.2} + {servers:.2}")
    };
    let bare_rate = rate(&bare);
    println!(
        "Lists of a person who has {STORED} conversations, {WIDTH} clients, medians of {ROUNDS} rounds (overrides: rate limit off)\n"
    );
    println!(
        "| | per second | p50 ms | p99 ms | to `/livez` | to pgbench, same statement | CPU ms per answer (ours + server) |"
    );
    println!("|---|---|---|---|---|---|---|");
    let row = |name: &str, rounds: &[Measured], floor: Option<f64>| {
        let (p50, p99) =
            percentiles(rounds.iter().flat_map(|round| round.waits.clone()).collect()).expect("answers");
        let rate = rate(rounds);
        let floor = floor.map_or(String::new(), |floor| format!("{:.2}", rate / floor));
        println!(
            "| {name} | {rate:.0} | {p50:.1} | {p99:.1} | {:.3} | {floor} | {} |",
            rate / bare_rate,
            cpu(rounds)
        );
    };
    for (rounds, (limit, with_transcript)) in measured.iter().zip(pages) {
        let transcripts = if with_transcript { ", with transcripts" } else { "" };
        let floor = (!with_transcript).then(|| rate(&floors[usize::from(limit == 100)]));
        row(&format!("{limit} conversations{transcripts}"), rounds, floor);
    }
    row("`GET /livez`", &bare, None);
    for (rounds, limit) in floors.iter().zip([25, 100]) {
        println!("| pgbench, the statement of {limit} | {:.0} | | | | 1 | {} |", rate(rounds), cpu(rounds));
    }
    println!();
}

/// The list's own statement as a script: it reads one more than it shows.
fn statement(limit: i64) -> String {
    let page = DatePage { limit: limit + 1, ..DatePage::default() };
    let filter = ConversationFilter { page, ..ConversationFilter::default() };
    let text = filter.statement(&UserId::new(PERSON));
    let text = (1..=9).fold(text, |text, number| text.replace(&format!("${number}"), "'bench-0'"));
    format!("{text};\n")
}

async fn offsets(setup: &Setup, address: SocketAddr, key: &str) {
    println!("| 25 conversations after | per second | p50 ms | p99 ms |");
    println!("|---|---|---|---|");
    for offset in [0, 1_000, 10_000, 99_000] {
        let measured =
            measure(setup, address, key, &format!("{LIST}?limit=25&offset={offset}"), Some(25)).await;
        let (p50, p99) = percentiles(measured.waits).expect("answers");
        println!("| {offset} | {:.0} | {p50:.1} | {p99:.1} |", measured.rate);
    }
    println!();
}

/// One client, one after the other; the worker runs beside, with an engine that costs nothing.
async fn create(setup: &Setup, address: SocketAddr, key: &str) {
    let soft = CancellationToken::new();
    let running = tokio::spawn(
        worker(setup, Arc::new(RunCounter::default())).run(soft.clone(), CancellationToken::new()),
    );
    let segment = |number: usize| {
        json!({
            "text": "I need to call the dentist by Friday, and then we shall see.",
            "speaker": format!("SPEAKER_{:02}", number % 3), "start": number, "end": number + 1,
        })
    };
    let body = json!({ "transcript_segments": (0..500).map(segment).collect::<Vec<_>>() }).to_string();
    let mut client = Client::connect(address).await;
    let mut waits = Vec::new();
    for _ in 0..CREATES {
        let asked = Instant::now();
        assert_eq!(client.post_json(&format!("{LIST}/from-segments"), key, &body).await, 200);
        waits.push(asked.elapsed().as_secs_f64() * 1e3);
        let made: Value = serde_json::from_slice(client.body()).unwrap();
        assert_eq!(made["status"], "completed");
    }
    soft.cancel();
    running.await.unwrap();
    let (p50, p99) = percentiles(waits).expect("answers");
    println!(
        "Create from 500 segments until `completed`, an engine that costs nothing, one client, {CREATES} creates: p50 {p50:.1} ms, p99 {p99:.1} ms\n"
    );
}
