//! Table 7: apps and the assistant: searches and answers over the 10,000 conversations of one user, messages of an app, and
//! the check of a manifest.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use api::{ChatSettings, Scope};
use engines::Embedded;
use futures::future::join_all;
use records::UserId;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use store::{AppFields, AppVisibility, KeptManifest, NewApp, NewAppKey};

use crate::{
    figures::{median, percentiles},
    http::Client,
    setup::{self, Setup, WIDTH, key_of, router_on},
};

/// Whose conversations they are, and who owns the app.
const USER: &str = "bench-0";
const APP: &str = "01993b1e-6f0a-7c31-9d55-1f6a2b7c8d90";
/// A build for debugging only shows that the table can be made.
const CONVERSATIONS: i64 = if cfg!(debug_assertions) { 300 } else { 10_000 };
/// Memories, and as many action items: more than a search reads.
const THINGS: i64 = if cfg!(debug_assertions) { 300 } else { 3_000 };
const READERS: usize = if cfg!(debug_assertions) { 100 } else { 2_000 };
const ROUNDS: usize = 3;
/// Questions of each kind and round.
const QUESTIONS: usize = if cfg!(debug_assertions) { 5 } else { 40 };

/// Kinds of searches: their queries, and the p99 that they are to stay below.
const SEARCHES: [(&str, &[&str], f64); 6] = [
    ("one or two words", &["budget", "invoice customer", "w77", "w1234 friday"], 150.0),
    ("words that stand nowhere", &["zebra", "zebra unicorn"], 150.0),
    (
        "phrases that are said",
        &["\"budget meeting\"", "\"garden report\"", "\"school kitchen\" friday"],
        150.0,
    ),
    (
        "phrases of frequent words that are never said",
        &["\"budget budget budget budget\"", "\"team plan travel music price\""],
        150.0,
    ),
    (
        "many frequent words",
        &[
            "budget meeting report friday project customer invoice design garden team review plan",
            "zebra budget meeting report friday project customer invoice design garden team review plan",
        ],
        150.0,
    ),
    (
        "many phrases, one of which is enough",
        &[
            "\"budget school\" or \"meeting plan\" or \"report team\" or \"friday roof\" or \"project travel\"",
        ],
        150.0,
    ),
];
const ASKED: &[&str] = &[
    "What did I talk about yesterday?",
    "What do you know about the garden?",
    "Anything overdue?",
    "What did we say about the \"budget meeting\"?",
    "How are my goals going?",
];

/// Prints the table.
pub(crate) async fn table(setup: &Setup) {
    println!("Apps and the assistant; one client after the other, medians of {ROUNDS} rounds\n");
    println!("| | p50 ms | p99 ms | target |\n|---|---|---|---|");
    manifest();
    fill(setup).await;
    let (address, key) = serve(setup).await;
    for (kind, queries, target) in SEARCHES {
        let queries: Vec<String> =
            queries.iter().map(|query| format!("/v1/dev/user/search?q={}", encoded(query))).collect();
        let mut client = Client::connect(address).await;
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let mut waits = Vec::new();
            for query in queries.iter().cycle().take(QUESTIONS) {
                let asked = Instant::now();
                assert_eq!(client.get(query, &key).await, 200, "{query}");
                waits.push(asked.elapsed().as_secs_f64() * 1e3);
            }
            rounds.push(percentiles(waits).expect("answers"));
        }
        row(&format!("search, {CONVERSATIONS} conversations: {kind}"), &rounds, target);
    }
    let mut client = Client::connect(address).await;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let mut waits = Vec::new();
        for text in ASKED.iter().cycle().take(QUESTIONS) {
            let asked = Instant::now();
            let body = json!({ "text": text }).to_string();
            assert_eq!(client.post_json("/v2/messages", &key, &body).await, 200, "{text}");
            waits.push(asked.elapsed().as_secs_f64() * 1e3);
            let reply: Value = serde_json::from_slice(client.body()).unwrap();
            assert_eq!(reply["status"], "completed", "{reply}");
        }
        rounds.push(percentiles(waits).expect("answers"));
    }
    row("a message to the assistant without a model", &rounds, 300.0);
    println!();
    messages(setup, address).await;
}

fn row(name: &str, rounds: &[(f64, f64)], target: f64) {
    let of = |figure: fn(&(f64, f64)) -> f64| median(rounds.iter().map(figure).collect());
    println!("| {name} | {:.1} | {:.1} | p99 ≤ {target:.0} |", of(|round| round.0), of(|round| round.1));
}

/// The check of a manifest with as many tools as there may be, each with a few parameters.
fn manifest() {
    let parameters = json!({
        "properties": {
            "title": { "type": "string", "description": "What it is called." },
            "tags": { "type": "array", "items": { "type": "string" } },
            "place": { "type": "object", "properties": { "city": { "type": "string" }, "floor": { "type": "integer" } } },
            "urgent": { "type": "boolean" },
        },
        "required": ["title"],
    });
    let tool = |number: usize| {
        json!({ "name": format!("tool_{number}"), "description": "Does what its name says. ".repeat(20),
            "endpoint": format!("/tools/{number}"), "parameters": parameters })
    };
    let body = json!({ "tools": (0..apps::MAX_TOOLS).map(tool).collect::<Vec<_>>() }).to_string();
    let mut waits = Vec::new();
    for _ in 0..200 {
        let begun = Instant::now();
        let checked = apps::check(body.as_bytes(), Some("https://app.example"), |_| true);
        waits.push(begun.elapsed().as_secs_f64() * 1e3);
        assert_eq!(checked.map(|manifest| manifest.tools.len()).unwrap_or_default(), apps::MAX_TOOLS);
    }
    row(
        &format!("check of a manifest of {} tools, {} KiB", apps::MAX_TOOLS, body.len() / 1_024),
        &[percentiles(waits).expect("checks")],
        5.0,
    );
}

/// 10,000 conversations of one user, 30 segments each, of 29 frequent words and 4,000 rare ones: indexed as the worker does. And
/// memories and action items of the same words.
async fn fill(setup: &Setup) {
    let words = "budget meeting report friday project customer invoice design garden team review plan release office \
         travel school doctor music dinner weather engine server market price quality kitchen holiday contract roof";
    let filled = format!(
        "insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, finished_at, \
             language, source, status, title, overview) \
         select '{USER}', 'search-' || n, t, t, t, t, 'en', 'phone', 'completed', 'Matter ' || n, 'They spoke of it.' \
         from generate_series(1, {CONVERSATIONS}) n, lateral (select now() - make_interval(mins => n) as t) times; \
         insert into transcript_segments (user_id, conversation_id, position, content, is_user, start_seconds, \
             end_seconds) \
         select c.user_id, c.conversation_id, p, array_to_string(array( \
             select case when random() < 0.5 then words.w[1 + floor(random() * 29)::integer] \
                 else 'w' || floor(random() * 4000)::integer end \
             from generate_series(1, 15) g where p >= 0 and c.title is not null), ' '), p % 2 = 0, p, p + 1 \
         from conversations c, generate_series(0, 29) p, (select string_to_array('{words}', ' ') as w) words \
         where c.conversation_id like 'search-%'; \
         insert into action_items (user_id, action_item_id, description, created_at, updated_at) \
         select '{USER}', 'search-' || n, 'Send the report ' || n || ' on ' || left(s.content, 80), now(), now() \
         from generate_series(1, {THINGS}) n \
             join transcript_segments s on s.user_id = '{USER}' and s.position = n % 30 \
                 and s.conversation_id = 'search-' || 1 + n % {CONVERSATIONS}; \
         insert into memories (user_id, memory_id, content, category, created_at, updated_at) \
         select '{USER}', action_item_id, 'Likes ' || description, 'core', created_at, updated_at from action_items"
    );
    sqlx::raw_sql(AssertSqlSafe(filled)).execute(&setup.pool).await.unwrap();
    while setup.ledger.store().index_conversations(200, 0).await.unwrap() > 0 {}
    while setup.ledger.store().index_things(200, 0).await.unwrap() > 0 {}
    sqlx::raw_sql("vacuum analyze").execute(&setup.pool).await.unwrap();
}

/// The service's router with the assistant that needs no model, and a key of the user's.
async fn serve(setup: &Setup) -> (SocketAddr, String) {
    let engine = Arc::new(Embedded::new());
    let chat = ChatSettings { engine: engine.clone(), embedded: engine, ..ChatSettings::default() };
    let settings =
        api::Settings { rate_per_minute: 0, app_rate_per_minute: 0, chat, ..api::Settings::default() };
    let address = setup::serve(router_on(&setup.ledger, settings)).await;
    (address, key_of(&setup.ledger, &UserId::new(USER), [43; 32], Scope::ALL).await)
}

/// An app writes to all of its users, as many requests at once as there are clients.
async fn messages(setup: &Setup, address: SocketAddr) {
    let owner = UserId::new(USER);
    let manifest = KeptManifest {
        text: "{}".to_owned(),
        sha256: [0; 32],
        chat_enabled: true,
        chat_target: "main",
        chat_notify: true,
    };
    let fields =
        AppFields { name: "Writer".to_owned(), visibility: AppVisibility::Public, ..AppFields::default() };
    let secret = SecretString::from("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDbGmhWzS6Y6M=");
    let new = NewApp { id: APP.to_owned(), fields, mcp_token: None, manifest: Some(manifest), secret };
    setup.ledger.store().create_app(&owner, &new).await.unwrap().unwrap();
    let made = api::keys::generate_app_key([44; 32], setup.ledger.db().shard());
    let (id, label) = (made.hint.clone(), String::new());
    let key = NewAppKey { id, label, prefix: made.hint, sha256: made.sha256 };
    setup.ledger.store().create_app_key(&owner, APP, &key).await.unwrap().unwrap();
    let installed = format!(
        "insert into users (user_id) select 'reader-' || n from generate_series(0, {READERS} - 1) n; \
         insert into app_installs (user_id, app_id, owner_id, installed_at) \
         select 'reader-' || n, '{APP}', '{USER}', now() from generate_series(0, {READERS} - 1) n; \
         vacuum analyze users; vacuum analyze app_installs"
    );
    for statement in installed.split(';') {
        sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(&setup.pool).await.unwrap();
    }
    let key = made.plaintext.expose_secret();
    let mut rates = Vec::new();
    for round in 0..ROUNDS {
        let (next, begun) = (AtomicUsize::new(0), Instant::now());
        join_all((0..WIDTH).map(|_| async {
            let mut client = Client::connect(address).await;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= READERS {
                    break;
                }
                let body = json!({ "uid": format!("reader-{number}"), "aid": APP,
                    "message": format!("Your list grew, for the time {round}.") });
                let status = client.post_json("/v1/integrations/notification", key, &body.to_string()).await;
                assert_eq!(status, 200);
            }
        }))
        .await;
        rates.push(READERS as f64 / begun.elapsed().as_secs_f64());
    }
    println!("| messages of an app, {WIDTH} clients, {READERS} users | a second | target |\n|---|---|---|");
    println!("| `POST /v1/integrations/notification`, median of {ROUNDS} | {:.0} | ≥ 500 |\n", median(rates));
}

fn encoded(text: &str) -> String {
    text.replace('"', "%22").replace(' ', "%20")
}
