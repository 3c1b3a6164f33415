//! Live sessions whose process is killed, and photos that a model describes.

use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt, future::join_all};
use mock_model::{Mock, Options, Turn};
use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};
use tokio::sync::{Barrier, watch};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::binary::printed;
use crate::client::Client;
use crate::process::{PATIENCE, Process, until};
use crate::socket::{Socket, next, open};
use crate::world::{GARDEN, World};

/// How many speak at once, and how many lines each of them says. The process is killed when all have said half of them.
const SPEAKERS: usize = 10;
const LINES: usize = 8;

/// A client that repeats what was not confirmed, as `docs/live.md` asks it to.
struct Speaker {
    user: String,
    key: String,
    number: usize,
    /// Where the service is now.
    address: watch::Receiver<String>,
}

impl Speaker {
    /// Says every line until it is confirmed, through as many sockets as that takes.
    async fn speak(self, halfway: Arc<Barrier>) {
        let mut socket = None;
        for line in 0..LINES {
            if line == LINES / 2 {
                halfway.wait().await;
            }
            let confirmed = async {
                loop {
                    let mut open = match socket.take() {
                        Some(open) => open,
                        None => match self.connect().await {
                            Some(open) => open,
                            None => {
                                tokio::time::sleep(Duration::from_millis(20)).await;
                                continue;
                            }
                        },
                    };
                    if self.say(&mut open, line).await.is_some() {
                        return open;
                    }
                }
            };
            socket = Some(timeout(PATIENCE, confirmed).await.expect("a line is confirmed in time"));
        }
    }

    async fn connect(&self) -> Option<Socket> {
        let base = self.address.borrow().clone();
        let query = "custom_stt=enabled&conversation_timeout=600&client_device_id=d";
        open(&base, &self.user, &self.key, query).await.ok()
    }

    /// `None`: the socket is lost, and the line may be stored or not.
    async fn say(&self, socket: &mut Socket, line: usize) -> Option<()> {
        let (id, start) = (format!("line-{line}"), line as f64 * 40.0);
        let text = format!("Speaker {} says line {line}.", self.number);
        let frame = json!({ "type": "suggested_transcript", "segments": [
            { "id": id, "text": text, "start": start, "end": start + 1.0, "is_user": true },
        ] });
        socket.send(Message::text(frame.to_string())).await.ok()?;
        loop {
            let shown: Value = next(socket).await?;
            if shown.as_array().into_iter().flatten().any(|segment| segment["id"] == id.as_str()) {
                return Some(());
            }
        }
    }
}

#[tokio::test]
async fn live_kill_9_loses_and_doubles_no_confirmed_segment() {
    let world = World::new().await;
    let settings = [("LISTEN_RATE_PER_MINUTE", "0")];
    let doomed = Process::serve(&world.url, &settings).await;
    let other = Process::outliving(&world.url, &settings).await;
    let (moved, address) = watch::channel(doomed.api.clone());
    let halfway = Arc::new(Barrier::new(SPEAKERS + 1));
    let mut speakers = tokio::task::JoinSet::new();
    let mut people = Vec::new();
    for number in 0..SPEAKERS {
        let user = format!("speaker-{number}");
        printed(&world.url, &["users", "create", "--id", &user]);
        let key = printed(&world.url, &["keys", "create", "--user", &user]);
        people.push(Client::new(&other.api, &key));
        let speaker = Speaker { user, key, number, address: address.clone() };
        speakers.spawn(speaker.speak(Arc::clone(&halfway)));
    }
    timeout(PATIENCE, halfway.wait()).await.expect("everyone says half of it in time");
    // Lines are on their way in all sockets.
    let killed = doomed.kill();
    moved.send_replace(other.api.clone());
    killed.await;
    while let Some(spoken) = speakers.join_next().await {
        spoken.expect("a speaker comes to the end");
    }
    let all = i64::try_from(SPEAKERS * LINES).unwrap();
    assert_eq!(world.count("select count(*) from transcript_segments").await, all, "none twice");
    let different = "select count(distinct (user_id, content)) from transcript_segments";
    assert_eq!(world.count(different).await, all, "none missing");
    for person in &people {
        person.end_live().await;
    }
    let everyone = i64::try_from(SPEAKERS).unwrap();
    until(async || {
        world.count("select count(*) from finalization_jobs where status = 'completed'").await == everyone
    })
    .await;
    assert_eq!(world.count("select count(*) from finalization_jobs").await, everyone, "admitted once each");
}

/// All clients of a process that was replaced come back at the same moment.
#[tokio::test]
async fn live_thousand_concurrent_sockets_are_answered() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("as many files as may be");
    let world = World::new().await;
    let settings = [("LISTEN_RATE_PER_MINUTE", "0"), ("LISTEN_CONNECTIONS_PER_ADDRESS", "5000")];
    let process = Process::serve(&world.url, &settings).await;
    let queries: Vec<String> =
        (0..1_000).map(|n| format!("custom_stt=enabled&client_device_id=d{n}")).collect();
    let opening = queries.iter().map(|query| open(&process.api, "u1", world.key(), query));
    let (mut opened, mut refused) = (Vec::new(), 0);
    for answer in join_all(opening).await {
        match answer {
            Ok(socket) => opened.push(socket),
            // A user's fourth, or one for which the database had no time.
            Err(Error::Http(answer)) if matches!(answer.status().as_u16(), 429 | 503) => {
                assert!(answer.headers().contains_key("retry-after"));
                refused += 1;
            }
            Err(error) => panic!("a socket is opened or refused in words: {error}"),
        }
    }
    assert!((1..=3).contains(&opened.len()) && opened.len() + refused == 1_000, "{} opened", opened.len());
    drop(opened);
    until(async || open(&process.api, "u1", world.key(), "").await.is_ok()).await;
}

/// A picture of a whiteboard, in one part.
fn picture() -> Message {
    let shown = json!({ "type": "image_chunk", "id": "p1", "index": 0, "total": 1, "data": "/9j/BwcHBwcH" });
    Message::text(shown.to_string())
}

/// The socket stays open, as that of glasses that only look: silence ends the conversation all the same.
#[tokio::test]
async fn live_photo_only_conversation_is_summarized_from_its_photo() {
    let mock = Mock::start(Options::default()).await.expect("a port is free");
    mock.turns([Turn::says("A whiteboard with a plan of the garden.")]);
    let base = mock.base_url();
    let settings = [
        ("LISTEN_TEXT_ENGINE", "openai"),
        ("LISTEN_OPENAI_BASE_URL", base.as_str()),
        ("LISTEN_OPENAI_MODEL", "mock"),
        ("LISTEN_OPENAI_VISION_MODEL", "mock-eyes"),
    ];
    let world = World::new().await;
    let process = Process::outliving(&world.url, &settings).await;
    let brief = "custom_stt=enabled&conversation_timeout=2";
    let mut socket = open(&process.api, "u1", world.key(), brief).await.expect("the socket opens");
    socket.send(picture()).await.expect("the socket takes it");

    let created = async {
        loop {
            let frame = next(&mut socket).await.expect("the socket is open");
            if frame["type"] == "memory_created" {
                return frame["memory"].clone();
            }
        }
    };
    let memory = timeout(PATIENCE, created).await.expect("it is processed in time");
    let structured = &memory["structured"];
    assert_eq!((&memory["status"], &memory["discarded"]), (&json!("completed"), &json!(false)), "{memory}");
    assert_eq!(structured["title"], "A whiteboard with a plan of the garden");
    assert_eq!(structured["overview"], "A whiteboard with a plan of the garden.");
    assert_eq!(structured["action_items"], json!([]));
    let asked =
        "select string_agg(stage || ' ' || calls, ', ' order by stage) from engine_usage where calls > 0";
    assert_eq!(
        world.dump(asked).await,
        "describe 1, describe_photos 1, trigger_apps 1",
        "each is paid for once"
    );
}

#[tokio::test]
async fn live_photo_is_described_during_processing() {
    let mock = Mock::start(Options::default()).await.expect("a port is free");
    mock.turns([Turn::says("A whiteboard with a plan of the garden.")]);
    let base = mock.base_url();
    let settings = [
        ("LISTEN_TEXT_ENGINE", "openai"),
        ("LISTEN_OPENAI_BASE_URL", base.as_str()),
        ("LISTEN_OPENAI_MODEL", "mock"),
        ("LISTEN_OPENAI_VISION_MODEL", "mock-eyes"),
    ];
    let world = World::new().await;
    let process = Process::outliving(&world.url, &settings).await;
    let client = world.client(&process);
    let mut socket =
        open(&process.api, "u1", world.key(), "custom_stt=enabled").await.expect("the socket opens");
    let said = json!({ "type": "suggested_transcript", "segments": [
        { "text": GARDEN.join(" "), "start": 0, "end": 9, "is_user": true },
    ] });
    for frame in [Message::text(said.to_string()), picture()] {
        socket.send(frame).await.expect("the socket takes it");
    }
    until(async || world.count("select count(*) from photos").await == 1).await;
    until(async || world.count("select count(*) from transcript_segments").await == 1).await;
    client.end_live().await;

    let (mut described, mut created) = (Value::Null, Value::Null);
    while created.is_null() {
        let frame = timeout(PATIENCE, next(&mut socket)).await.expect("in time").expect("the socket is open");
        match frame["type"].as_str() {
            Some("photo_described") => described = frame,
            Some("memory_created") => created = frame["memory"]["id"].clone(),
            _ => {}
        }
    }

    let description = "A whiteboard with a plan of the garden.";
    assert_eq!((&described["photo_id"], &described["description"]), (&json!("p1"), &json!(description)));
    let id = created.as_str().expect("an id");
    let kept = client.conversation(&format!("{id}?include_photos=true")).await;
    assert_eq!(kept["photos"][0]["description"], description);
    let spent = "select count(*) from engine_usage where stage = 'describe_photos' and calls = 1 \
         and engine like 'openai:mock-eyes@%' and prompt_tokens > 0";
    assert_eq!(world.count(spent).await, 1);
}
