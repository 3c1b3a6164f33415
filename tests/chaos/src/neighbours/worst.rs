//! The loud user: everything that one user with a key can do to slow others down.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, PgPool};
use tokio::{io::AsyncReadExt, net::TcpListener, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::attack::{LONG_TALKS, seed};
use crate::client::Client;

/// Connections of the loud user.
const WIDTH: usize = 8;
/// Characters of a hostile text: the most that is taken.
const LONG: usize = 100_000;
/// Jobs that wait.
const BACKLOG: usize = 100_000;
/// What a refused request waits for.
const AGAIN: Duration = Duration::from_millis(300);

/// The kinds of load.
#[derive(Clone, Copy, Debug)]
pub(super) enum Worst {
    HostileTexts,
    LikeTasks,
    LongTalks,
    DeadWebhooks,
    HugeLists,
    Everything,
    Backlog,
}

impl Worst {
    /// The backlog comes last: it is not worked off within a phase.
    pub(super) const ALL: [Self; 7] = [
        Self::HostileTexts,
        Self::LikeTasks,
        Self::DeadWebhooks,
        Self::HugeLists,
        Self::LongTalks,
        Self::Everything,
        Self::Backlog,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::HostileTexts => "hostile texts of ten kinds",
            Self::LikeTasks => "60 tasks beside 500 kept ones",
            Self::LongTalks => "conversations of 4 MiB",
            Self::DeadWebhooks => "20 dead and slow webhooks",
            Self::HugeLists => "lists of 30 MB",
            Self::Everything => "all of these at once",
            Self::Backlog => "100,000 waiting jobs",
        }
    }

    pub(super) fn user(self) -> &'static str {
        match self {
            Self::HostileTexts => "loud-texts",
            Self::LikeTasks => "loud-tasks",
            Self::LongTalks => "loud-talks",
            Self::DeadWebhooks => "loud-webhooks",
            Self::HugeLists => "loud-lists",
            Self::Everything => "loud-everything",
            Self::Backlog => "loud-backlog",
        }
    }

    /// What connection `lane` asks for in its round `number`.
    fn request(self, lane: usize, number: usize) -> (Method, &'static str, Option<Value>) {
        const CREATE: &str = "/v1/dev/user/conversations";
        const SEGMENTS: &str = "/v1/dev/user/conversations/from-segments";
        let turn = lane + number * WIDTH;
        match self {
            Self::HostileTexts => (Method::POST, CREATE, Some(json!({ "text": hostile(turn) }))),
            Self::LikeTasks => (Method::POST, CREATE, Some(json!({ "text": tasks(turn) }))),
            Self::LongTalks => (Method::POST, SEGMENTS, Some(long_talk(turn))),
            Self::DeadWebhooks => {
                let text = format!("I will call Tom about parcel {turn} by Friday. I love parcel {turn}.");
                (Method::POST, CREATE, Some(json!({ "text": text })))
            }
            Self::HugeLists => {
                (Method::GET, "/v1/dev/user/conversations?limit=100&include_transcript=true", None)
            }
            Self::Everything => {
                let each = [
                    Self::HostileTexts,
                    Self::LikeTasks,
                    Self::LongTalks,
                    Self::DeadWebhooks,
                    Self::HugeLists,
                ];
                each[lane % each.len()].request(lane, number)
            }
            Self::Backlog => (Method::GET, "/v1/dev/user/conversations?limit=100", None),
        }
    }
}

/// What must be there before.
pub(super) async fn prepare(worst: Worst, api: &str, key: &str, pool: &PgPool) {
    let all = matches!(worst, Worst::Everything);
    if all || matches!(worst, Worst::LikeTasks) {
        keep_tasks(api, key).await;
    }
    if all || matches!(worst, Worst::DeadWebhooks) {
        register_webhooks(api, key).await;
    }
    if all || matches!(worst, Worst::HugeLists) {
        seed(pool, worst.user(), LONG_TALKS).await;
    }
    if matches!(worst, Worst::Backlog) {
        let sql = WAITING.replace("{many}", &BACKLOG.to_string()).replace("{user}", worst.user());
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(pool).await.expect("the rows can be written");
    }
}

/// Asks over and over until `stop`; how many requests were answered, and how many refused.
pub(super) async fn crowd(worst: Worst, api: String, key: String, stop: CancellationToken) -> (usize, usize) {
    let seen = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let lane = async |lane: usize| {
        let client = Client::new();
        for number in 0.. {
            let (method, path, body) = worst.request(lane, number);
            let url = format!("{api}{path}");
            let asked = client.ask(method, &url, &key, body.as_ref());
            let Some((status, _)) = stop.run_until_cancelled(asked).await else { return };
            match status {
                200 => seen.0.fetch_add(1, Relaxed),
                _ => seen.1.fetch_add(1, Relaxed),
            };
            if status != 200 && stop.run_until_cancelled(sleep(AGAIN)).await.is_none() {
                return;
            }
        }
    };
    join_all((0..WIDTH).map(lane)).await;
    (seen.0.load(Relaxed), seen.1.load(Relaxed))
}

/// Texts that are long to read: of ten kinds, in turn.
fn hostile(turn: usize) -> String {
    let unit: &str = match turn % 10 {
        0 => "a",
        1 => "((((([[[[[",
        2 => "2026-05-06 at 7:30 or May 5th, next Friday at noon, ",
        3 => "I will call and then I will send and ",
        4 => "\"'\u{201c}\u{2018}",
        5 => "👩‍👩‍👧‍👦",
        6 => "very very not never ",
        7 => "1,234.56 € 99% +49 30 1234567 ",
        8 => "@a http://x.y/z?q=1 ",
        _ => "e\u{301}\u{302}\u{303}\u{304} ",
    };
    let begins = format!("Talk {turn}. I will call Tom by Friday. ");
    begins.chars().chain(unit.chars().cycle()).take(LONG).collect()
}

/// Sixty plain tasks, each unlike the ones before.
fn tasks(turn: usize) -> String {
    (0..60)
        .map(|task| format!("I will call number {} about parcel {task} by Friday. ", turn * 60 + task))
        .collect()
}

/// The longest body that is taken.
fn long_talk(turn: usize) -> Value {
    let said =
        format!("I will call number {turn} by Friday, and we talked about the garden at length. ").repeat(95);
    let segment = |position: usize| {
        let start = position as f64;
        json!({ "text": said, "start": start, "end": start + 1.0, "is_user": true, "speaker": "SPEAKER_00" })
    };
    json!({ "transcript_segments": (0..500).map(segment).collect::<Vec<_>>() })
}

/// 500 action items of 500 characters, full of dates.
async fn keep_tasks(api: &str, key: &str) {
    let client = Client::new();
    for request in 0..10 {
        let item = |number: usize| {
            let dates = "by Friday at 7:30 or on May 5th ".repeat(20);
            let text: String =
                format!("Call number {} {dates}", request * 50 + number).chars().take(500).collect();
            json!({ "description": text })
        };
        let body = json!({ "action_items": (0..50).map(item).collect::<Vec<_>>() });
        let url = format!("{api}/v1/dev/user/action-items/batch");
        let (status, answer) = client.ask(Method::POST, &url, key, Some(&body)).await;
        assert_eq!(status, 200, "the tasks cannot be kept: {answer}");
    }
}

/// Ten endpoints at a closed port, ten that take requests and never answer.
async fn register_webhooks(api: &str, key: &str) {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port can be had");
    let address = silent.local_addr().expect("it has an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = silent.accept().await {
            tokio::spawn(async move {
                let mut taken = [0; 4_096];
                while stream.read(&mut taken).await.is_ok_and(|read| read > 0) {}
            });
        }
    });
    let client = Client::new();
    for number in 0..20 {
        let port = if number % 2 == 0 { 9 } else { address.port() };
        let body = json!({
            "url": format!("http://127.0.0.1:{port}/hook{number}"),
            "events": ["conversation.completed", "action_item.created", "memory.created"],
        });
        let (status, answer) =
            client.ask(Method::POST, &format!("{api}/v1/dev/user/webhooks"), key, Some(&body)).await;
        assert!((200..300).contains(&status), "no webhook: {status} {answer}");
    }
}

/// Jobs as their admissions wrote them, half in each queue.
const WAITING: &str = "insert into conversations (user_id, conversation_id, source, language, status, created_at, updated_at, \
         started_at, finished_at, private_text, text_source, finalization_revision) \
         select '{user}', '{user}-' || n, 'phone', 'en', 'processing', now(), now(), now(), now(), \
             'I will call number ' || n || ' by Friday.', 'other_text', 1 from generate_series(1, {many}) n; \
     insert into finalization_jobs (user_id, job_id, conversation_id, revision, version, origin, queue, status, ready_at, \
             requires_keys, force_process, admitted_at, reconcile_after_at, created_at, updated_at) \
         select '{user}', 'fj_' || md5('{user}' || n), '{user}-' || n, 1, 1, \
             case n % 2 when 0 then 'create' else 'finalize' end, case n % 2 when 0 then 'creation' else 'finalization' end, \
             'queued', now(), false, true, now(), now() + interval '300 s', now(), now() from generate_series(1, {many}) n; \
     insert into finalization_admissions (user_id, conversation_id, revision, job_id, admitted_at) \
         select user_id, conversation_id, revision, job_id, admitted_at from finalization_jobs where user_id = '{user}'; \
     analyze";
