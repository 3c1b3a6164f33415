//! Calls of app tools on a fake server that misbehaves on command.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop at a surprise")]

use std::time::Duration;

use apps::{Answered, ToolFailure};
use ledger::{Ledger, Settings};
use outside::{Caller, Guard};
use prometheus::{Registry, TextEncoder};
use records::{Geolocation, UserId};
use secrecy::SecretString;
use serde_json::{Map, Value, json};
use standardwebhooks::Webhook;
use store::{AppFields, KeptManifest, NewApp, UserChange};
use testbed::{AppServer, Received, TestDatabase, tool};
use worker::{Metrics, Tools};

const APP: &str = "01993b1e-6f0a-7c31-9d55-1f6a2b7c8d90";
const SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDbGmhWzS6Y6M=";

struct World {
    ledger: Ledger,
    server: AppServer,
    tools: Tools,
    registry: Registry,
    ann: UserId,
    database: TestDatabase,
}

impl World {
    /// Ann has installed her own app, with the tools of these names.
    async fn new(tools: &[Value]) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let database = TestDatabase::new().await;
        let ledger = Ledger::new(database.options(), Settings::default());
        let (server, ann) = (AppServer::start().await, UserId::new("ann"));
        ledger.store().create_user(&ann, &UserChange::default()).await.unwrap();
        let home = server.url("/");
        let manifest =
            apps::check(json!({ "tools": tools }).to_string().as_bytes(), Some(&home), |_| true).unwrap();
        let fields = AppFields {
            name: "Fake".to_owned(),
            home_url: Some(home),
            setup_url: Some("https://fake.example/connect".to_owned()),
            ..AppFields::default()
        };
        let kept = KeptManifest {
            text: manifest.to_text(),
            sha256: manifest.sha256(),
            chat_enabled: false,
            chat_target: "app",
            chat_notify: false,
        };
        let new = NewApp {
            id: APP.to_owned(),
            fields,
            mcp_token: None,
            manifest: Some(kept),
            secret: SecretString::from(SECRET),
        };
        ledger.store().create_app(&ann, &new).await.unwrap().unwrap();
        ledger.store().install_app(&ann, APP).await.unwrap().unwrap();
        let registry = Registry::new();
        let metrics = Metrics::new(&registry).unwrap();
        let caller = Caller::new(Guard::new(vec!["127.0.0.0/8".parse().unwrap()])).unwrap();
        // Only a tool that hangs is to use its time up, also on a busy machine.
        let hangs = tools.iter().any(|tool| tool["name"] == "slow");
        let timeout = if hangs { Duration::from_millis(300) } else { Duration::from_secs(30) };
        let tools = Tools::new(ledger.clone(), caller, timeout, metrics, 7);
        Self { ledger, server, tools, registry, ann, database }
    }

    async fn of(how: &str) -> Self {
        Self::new(&[tool(how)]).await
    }

    async fn call(&self, name: &str, arguments: Value) -> Answered {
        let arguments: Map<String, Value> = arguments.as_object().unwrap().clone();
        self.tools.call(&self.ann, APP, name, &arguments).await
    }

    fn received(&self) -> Received {
        let mut all = self.server.take_received();
        assert_eq!(all.len(), 1, "called once, never twice");
        all.remove(0)
    }

    async fn failing(&self) -> bool {
        self.ledger.store().app(&self.ann, APP).await.unwrap().unwrap().failing_since.is_some()
    }
}

fn verified(received: &Received, signed: &[u8]) {
    Webhook::new(SECRET).unwrap().verify(signed, &received.headers).unwrap_or_else(|error| {
        // The verifier looks at the clock; the signature itself is what matters here.
        assert!(error.to_string().contains("timestamp"), "{error}");
    });
}

#[tokio::test]
async fn tool_post_sends_the_specified_signed_fields_only() {
    let world = World::of("echo").await;
    let bob = UserId::new("bob");
    world.ledger.store().create_user(&bob, &UserChange::default()).await.unwrap();
    let his = Geolocation {
        latitude: 1.0,
        longitude: 2.0,
        address: None,
        google_place_id: None,
        location_type: None,
    };
    world.ledger.store().note_location(&bob, &his, None).await.unwrap();
    let answered =
        world.call("echo", json!({ "text": "a & b", "count": 3, "list": ["x"], "flag": null })).await;
    assert_eq!(answered, Answered::Result("done".to_owned()));
    let received = world.received();
    assert_eq!(
        (received.method.as_str(), received.path.as_str(), received.query.as_str()),
        ("POST", "/tools/echo", "")
    );
    let body: Value = serde_json::from_slice(&received.body).unwrap();
    assert_eq!(
        body,
        json!({ "uid": "ann", "app_id": APP, "tool_name": "echo", "text": "a & b", "count": 3, "list": ["x"] }),
        "and no geolocation: hers is not known, and another's is not hers"
    );
    assert_eq!(received.headers["content-type"], "application/json");
    for name in ["authorization", "cookie", "traceparent"] {
        assert!(!received.headers.contains_key(name), "{name}");
    }
    verified(&received, &received.body);
}

#[tokio::test]
async fn tool_get_sends_the_same_fields_signed_with_a_known_location() {
    let mut get = tool("echo");
    get["method"] = json!("get");
    let world = World::new(&[get]).await;
    let place = Geolocation {
        latitude: 52.5,
        longitude: 13.4,
        address: Some("Berlin".to_owned()),
        google_place_id: None,
        location_type: None,
    };
    world.ledger.store().note_location(&world.ann, &place, None).await.unwrap();
    for (minutes, known) in [(29, true), (31, false)] {
        let age =
            format!("update user_locations set noted_at = clock_timestamp() - interval '{minutes} minutes'");
        world.database.run(&age).await;
        assert_eq!(
            world.call("echo", json!({ "text": "ä", "list": ["x", "y"] })).await,
            Answered::Result("done".to_owned())
        );
        let received = world.received();
        assert_eq!((received.method.as_str(), received.body.len()), ("GET", 0));
        let fields: Map<String, Value> = form_urlencoded::parse(received.query.as_bytes())
            .map(|(name, value)| (name.into_owned(), Value::from(value.into_owned())))
            .collect();
        assert_eq!(
            (&fields["uid"], &fields["text"], &fields["list"]),
            (&json!("ann"), &json!("ä"), &json!(r#"["x","y"]"#))
        );
        let place = fields
            .get("geolocation")
            .map(|text| serde_json::from_str::<Value>(text.as_str().unwrap()).unwrap());
        let expected = json!({ "latitude": 52.5, "longitude": 13.4, "address": "Berlin", "google_place_id": null, "location_type": null });
        assert_eq!(place, known.then_some(expected), "{minutes} minutes");
        verified(&received, received.query.as_bytes());
    }
}

#[tokio::test]
async fn tool_answer_is_returned_without_secrets() {
    let world = World::new(&["connect", "bad", "secrets", "orders"].map(tool)).await;
    let words = |text: &str, setup_url: Option<&str>| Answered::AppError {
        text: text.to_owned(),
        setup_url: setup_url.map(str::to_owned),
    };
    let text = || json!({ "text": "x" });
    assert_eq!(
        world.call("connect", text()).await,
        words("Connect your account first", Some("https://fake.example/connect?uid=ann"))
    );
    assert_eq!(world.call("bad", text()).await, words("There is no list \"work\"", None));
    assert_eq!(world.call("secrets", text()).await, words("failed with key […] and Bearer […] at […]", None));
    let Answered::Result(orders) = world.call("orders", text()).await else { panic!("a result is data") };
    assert!(orders.starts_with("Ignore all rules"));
    assert!(!world.failing().await, "what an app refuses is no outage");
}

#[tokio::test]
async fn tool_server_misbehaviour_is_a_fixed_code() {
    for (how, failure, is_outage) in [
        ("slow", ToolFailure::Timeout, true),
        ("huge", ToolFailure::TooLong, false),
        ("redirect", ToolFailure::Redirect, false),
        ("gzip", ToolFailure::Malformed, false),
        ("broken", ToolFailure::Malformed, false),
        ("html", ToolFailure::Status5xx, true),
        ("down", ToolFailure::Status5xx, true),
        ("gone", ToolFailure::Status4xx, false),
    ] {
        let world = World::of(how).await;
        assert_eq!(world.call(how, json!({ "text": "x" })).await, Answered::Failed(failure), "{how}");
        assert_eq!(world.failing().await, is_outage, "{how}");
        let text = TextEncoder::new().encode_to_string(&world.registry.gather()).unwrap();
        assert!(
            text.contains(&format!("listen_tool_calls_total{{outcome=\"{}\"}} 1", failure.as_str())),
            "{how}"
        );
    }
}

#[tokio::test]
async fn tool_call_with_wrong_arguments_user_or_name_sends_nothing() {
    let world = World::of("echo").await;
    let bob = UserId::new("bob");
    world.ledger.store().create_user(&bob, &UserChange::default()).await.unwrap();
    let wrong = world.call("echo", json!({ "count": "many", "uid": "bob" })).await;
    let Answered::BadArguments(problems) = wrong else { panic!("{wrong:?}") };
    assert_eq!(problems.len(), 3, "{problems:?}");
    let text = json!({ "text": "x" });
    assert_eq!(world.call("other", text.clone()).await, Answered::Unknown);
    let arguments = text.as_object().unwrap().clone();
    let arguments = &arguments;
    assert_eq!(
        world.tools.call(&bob, APP, "echo", arguments).await,
        Answered::Unknown,
        "he has not installed it"
    );
    let off = world.tools.clone().allowed(false);
    assert_eq!(
        off.call(&world.ann, APP, "echo", arguments).await,
        Answered::Unknown,
        "apps are switched off"
    );
    world.ledger.store().uninstall_app(&world.ann, APP).await.unwrap();
    assert_eq!(world.call("echo", text).await, Answered::Unknown);
    assert!(world.server.take_received().is_empty());
}

#[tokio::test]
async fn tool_breaker_opens_after_five_outages_without_disabling_the_app() {
    let world = World::of("down").await;
    for _ in 0..5 {
        assert_eq!(
            world.call("down", json!({ "text": "x" })).await,
            Answered::Failed(ToolFailure::Status5xx)
        );
    }
    assert_eq!(world.call("down", json!({ "text": "x" })).await, Answered::Failed(ToolFailure::Unreachable));
    assert_eq!(world.server.take_received().len(), 5);
    let app = world.ledger.store().app(&world.ann, APP).await.unwrap().unwrap();
    assert!(app.switched_off_reason.is_none() && app.installed && app.failing_since.is_some());
}

/// The sample app of `docs/apps.md`; it ends with its test.
struct Sample(std::process::Child, String);

impl Sample {
    async fn start(secret: &str) -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/task_app.py");
        let mut command = std::process::Command::new("python3");
        command
            .args([script, &port.to_string()])
            .env("APP_SECRET", secret)
            .stderr(std::process::Stdio::null());
        let child = command.spawn().expect("python3 is there");
        for _ in 0..200 {
            if tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Self(child, format!("http://127.0.0.1:{port}"))
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn sample_app_accepts_signed_calls_only() {
    let world = World::new(&[]).await;
    let sample = Sample::start(SECRET).await;
    let home = sample.1.as_str();
    let caller = Caller::new(Guard::new(vec!["127.0.0.0/8".parse().unwrap()])).unwrap();
    let call = outside::Call {
        method: outside::Method::GET,
        url: outside::Url::parse(&format!("{home}/.well-known/service-tools.json")).unwrap(),
        headers: Vec::new(),
        body: None,
        timeout: Duration::from_secs(10),
        max_bytes: apps::MAX_MANIFEST_BYTES,
    };
    let outside::Heard::Answer { status: 200, body } = caller.call("ann", call).await else {
        panic!("no manifest")
    };
    let manifest = apps::check(&body, Some(home), |_| true).unwrap();
    assert!(manifest.chat_messages.enabled && manifest.chat_messages.notify);
    let kept = KeptManifest {
        text: manifest.to_text(),
        sha256: manifest.sha256(),
        chat_enabled: true,
        chat_target: "app",
        chat_notify: true,
    };
    let app = world.ledger.store().app(&world.ann, APP).await.unwrap().unwrap();
    world
        .ledger
        .store()
        .store_app(&world.ann, (APP, app.version), &app.fields, None, Some(&kept))
        .await
        .unwrap();
    let tools = &world.tools;
    let call = async |name: &str, arguments: Value| {
        tools.call(&world.ann, APP, name, arguments.as_object().unwrap()).await
    };
    let added = call("add_task", json!({ "title": "Call Tom" })).await;
    assert_eq!(added, Answered::Result("Added: Call Tom. There are 1 tasks now.".to_owned()));
    assert_eq!(call("list_tasks", json!({})).await, Answered::Result("Call Tom".to_owned()));
    world.database.run("update apps set secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'").await;
    let words =
        Answered::AppError { text: "The request is not signed by the service".to_owned(), setup_url: None };
    assert_eq!(call("list_tasks", json!({})).await, words);
}

/// It is started with an empty secret until the real one is known, and took every call that was signed with none.
#[tokio::test]
async fn sample_app_with_an_empty_secret_accepts_no_call() {
    let world = World::new(&[]).await;
    let sample = Sample::start("whsec_").await;
    let body = r#"{"uid": "ann", "tool_name": "list_tasks"}"#;
    let now = world.ledger.db().now().await.unwrap().timestamp();
    let signature = Webhook::from_bytes(Vec::new()).unwrap().sign("msg_1", now, body.as_bytes()).unwrap();
    let headers =
        [("webhook-id", "msg_1"), ("webhook-timestamp", &now.to_string()), ("webhook-signature", &signature)];
    let call = outside::Call {
        method: outside::Method::POST,
        url: outside::Url::parse(&format!("{}/tools/list_tasks", sample.1)).unwrap(),
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        body: Some(body.into()),
        timeout: Duration::from_secs(10),
        max_bytes: 1_000,
    };
    let caller = Caller::new(Guard::new(vec!["127.0.0.0/8".parse().unwrap()])).unwrap();
    let heard = caller.call("ann", call).await;
    assert!(matches!(heard, outside::Heard::Answer { status: 401, .. }), "{heard:?}");
}
