//! Apps of third parties: registry, manifests, keys, installs.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};
use std::time::Duration;

use api::{AppServers, AppsMode, NoManifest, NoMcpTools, Scope, Settings};
use axum::http::Method;
use futures::future::{BoxFuture, ready};
use records::UserId;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::bench::{Answer, Bench, P, quick};

/// Answers manifests from memory.
#[derive(Debug)]
pub(crate) struct Servers {
    manifest: Mutex<Result<Value, NoManifest>>,
    mcp: Mutex<Result<Value, NoMcpTools>>,
    tokens: Mutex<Vec<Option<String>>>,
    is_set_up: AtomicBool,
    /// How long each takes.
    takes: Mutex<Duration>,
}

impl Servers {
    pub(crate) fn new() -> Arc<Self> {
        let manifest = Mutex::new(Ok(json!({ "tools": [tool("add_task")] })));
        Arc::new(Self {
            manifest,
            mcp: Mutex::new(Ok(json!([]))),
            tokens: Mutex::default(),
            is_set_up: AtomicBool::new(true),
            takes: Mutex::default(),
        })
    }

    pub(crate) fn answer(&self, manifest: Result<Value, NoManifest>) {
        *self.manifest.lock().unwrap() = manifest;
    }

    pub(crate) fn take(&self, time: Duration) {
        *self.takes.lock().unwrap() = time;
    }
}

impl AppServers for Servers {
    fn manifest<'a>(&'a self, _: &'a UserId, _: &'a str) -> BoxFuture<'a, Result<Vec<u8>, NoManifest>> {
        let (answer, takes) = (self.manifest.lock().unwrap().clone(), *self.takes.lock().unwrap());
        Box::pin(async move {
            tokio::time::sleep(takes).await;
            answer.map(|manifest| manifest.to_string().into_bytes())
        })
    }

    fn mcp_tools<'a>(
        &'a self,
        _: &'a UserId,
        _: &'a str,
        token: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Result<Vec<Value>, NoMcpTools>> {
        self.tokens.lock().unwrap().push(token.map(|token| token.expose_secret().to_owned()));
        let answer = self.mcp.lock().unwrap().clone();
        Box::pin(ready(answer.map(|tools| tools.as_array().unwrap().clone())))
    }

    fn is_set_up<'a>(&'a self, _: &'a UserId, _: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(ready(self.is_set_up.load(Ordering::SeqCst)))
    }
}

fn tool(name: &str) -> Value {
    json!({ "name": name, "description": "Adds a task", "endpoint": format!("/tools/{name}") })
}

pub(crate) fn settings(servers: &Arc<Servers>) -> Settings {
    Settings { app_servers: servers.clone(), ..quick() }
}

fn new_app() -> Value {
    json!({
        "name": "Tasks", "home_url": "https://tasks.example",
        "manifest_url": "https://tasks.example/.well-known/service-tools.json?secret=1",
        "webhook_url": "https://tasks.example/hook?secret=1",
    })
}

fn id_of(answer: &Answer) -> String {
    answer.body["id"].as_str().unwrap_or_else(|| panic!("{answer:?}")).to_owned()
}

impl Bench {
    pub(crate) async fn patch(&self, path: &str, body: Value) -> Answer {
        self.ask(&self.key, Method::PATCH, path, Some(body)).await
    }

    async fn bare_post(&self, key: &str, path: &str) -> Answer {
        self.ask(key, Method::POST, path, None).await
    }
}

#[tokio::test]
async fn app_is_created_shown_changed_and_deleted() {
    let servers = Servers::new();
    let bench = Bench::with(settings(&servers)).await;
    let made = bench.post("/v1/apps", new_app()).await;
    assert_eq!(made.status, 200, "{made:?}");
    assert!(made.body["secret"].as_str().unwrap().starts_with("whsec_"));
    assert_eq!(made.body["tools"][0]["endpoint"], "https://tasks.example/tools/add_task");
    assert_eq!(made.body["tools"][0]["status_message"], "Using add task…");
    assert_eq!(made.body["uses"], json!(["tool_calls", "conversations"]));
    assert_eq!(made.body["sends_to"], json!(["https://tasks.example"]));
    let path = format!("/v1/apps/{}", id_of(&made));
    let shown = bench.get(&path).await;
    assert!(shown.body.get("secret").is_none());
    assert_eq!(bench.get("/v1/apps").await.body, json!([shown.body]));

    servers.answer(Ok(json!({ "tools": [], "chat_messages": { "enabled": true } })));
    let changed = bench.patch(&path, json!({ "name": "Other", "webhook_url": null })).await;
    assert_eq!(
        (&changed.body["name"], &changed.body["tools"]),
        (&json!("Other"), &json!([])),
        "saved and refetched"
    );
    assert_eq!(changed.body["uses"], json!(["chat_messages"]));
    servers.answer(Ok(json!({ "tools": [tool("new")] })));
    let fresh = bench.bare_post(&bench.key, &format!("{path}/refresh-manifest")).await;
    assert_eq!(fresh.body["tools"][0]["name"], "new");

    assert_eq!(bench.ask(&bench.key, Method::DELETE, &path, None).await.body, json!({ "success": true }));
    assert_eq!(bench.get(&path).await.body, json!({ "detail": "App not found" }));
}

#[tokio::test]
async fn user_has_room_for_two_apps_whose_servers_are_asked_at_once() {
    let servers = Servers::new();
    servers.take(Duration::from_secs(2));
    let bench = Bench::with(settings(&servers)).await;
    let made = tokio::join!(
        bench.post("/v1/apps", new_app()),
        bench.post("/v1/apps", new_app()),
        bench.post("/v1/apps", new_app()),
    );
    let answers: [Answer; 3] = made.into();
    let of = |status: u16| answers.iter().filter(|answer| answer.status == status).count();
    assert_eq!((of(200), of(503)), (2, 1), "{answers:?}");
    servers.take(Duration::ZERO);
    assert_eq!(bench.post("/v1/apps", new_app()).await.status, 200, "the room was given back");
}

#[tokio::test]
async fn invalid_app_manifest_is_422_and_changes_nothing() {
    let servers = Servers::new();
    let bench = Bench::with(settings(&servers)).await;
    let path = format!("/v1/apps/{}", id_of(&bench.post("/v1/apps", new_app()).await));
    let before = bench.get(&path).await.body;
    for (answer, words) in [
        (Err(NoManifest::Unreachable), "could not be reached"),
        (Err(NoManifest::Redirect), "redirect"),
        (Err(NoManifest::Status(404)), "404"),
        (Err(NoManifest::TooLong), "256 KiB"),
        (Ok(json!([])), "must be a JSON object"),
        (Ok(json!({ "tools": {} })), "tools: must be an array"),
    ] {
        servers.answer(answer);
        for refused in
            [bench.post("/v1/apps", new_app()).await, bench.patch(&path, json!({ "name": "X" })).await]
        {
            assert_eq!(refused.status, 422, "{words}");
            assert_eq!(refused.kinds(), [("value_error", &json!(["body", "manifest_url"]))]);
            assert!(refused.body["detail"][0]["msg"].as_str().unwrap().contains(words), "{refused:?}");
        }
        let refresh = bench.bare_post(&bench.key, &format!("{path}/refresh-manifest")).await;
        assert_eq!(refresh.kinds(), [("value_error", &json!(["path", "app_id"]))]);
    }
    servers.answer(Ok(json!({ "tools": [{ "name": "a b" }, tool("uid"), { "name": 1 }] })));
    let all = bench.post("/v1/apps", new_app()).await;
    assert_eq!(all.body["detail"].as_array().unwrap().len(), 6, "all problems at once: {all:?}");
    assert_eq!(bench.get(&path).await.body, before);
}

#[tokio::test]
async fn app_body_errors_name_every_invalid_url() {
    let bench = Bench::with(settings(&Servers::new())).await;
    let body = json!({ "name": " ", "home_url": "http://127.0.0.1", "webhook_url": "ftp://x", "summary_prompt": "",
        "visibility": "secret" });
    let answer = bench.post("/v1/apps", body).await;
    let places: Vec<&Value> = answer.kinds().into_iter().map(|(_, place)| place).collect();
    for field in ["name", "visibility", "home_url", "webhook_url", "summary_prompt"] {
        assert!(places.contains(&&json!(["body", field])), "{field} in {answer:?}");
    }
    let path = format!("/v1/apps/{}", id_of(&bench.post("/v1/apps", json!({ "name": "bare" })).await));
    assert_eq!(bench.patch(&path, json!({})).await.kinds(), [("value_error", &json!(["body"]))]);
}

#[tokio::test]
async fn private_app_is_visible_to_its_owner_only_and_only_owners_change_apps() {
    let bench = Bench::with(settings(&Servers::new())).await;
    let bob = bench.person("bob", Scope::ALL).await;
    let path = format!("/v1/apps/{}", id_of(&bench.post("/v1/apps", new_app()).await));
    let ask = |method, path: String, body| {
        let (bench, bob) = (&bench, &bob);
        async move { bench.ask(bob, method, &path, body).await }
    };
    assert_eq!(ask(Method::GET, path.clone(), None).await.status, 404);
    assert_eq!(ask(Method::GET, "/v1/apps".to_owned(), None).await.body, json!([]));
    let id = path.rsplit('/').next().unwrap().to_owned();
    let install = format!("/v1/apps/enable?app_id={id}");
    assert_eq!(ask(Method::POST, install.clone(), None).await.status, 404);

    bench.patch(&path, json!({ "visibility": "public" })).await;
    let seen = ask(Method::GET, path.clone(), None).await;
    assert_eq!((&seen.body["mine"], &seen.body["manifest_url"]), (&json!(false), &Value::Null));
    assert!(!seen.body.to_string().contains("secret="), "{seen:?}");
    for (method, path, body) in [
        (Method::PATCH, path.clone(), Some(json!({ "name": "Mine" }))),
        (Method::DELETE, path.clone(), None),
        (Method::POST, format!("{path}/refresh-manifest"), None),
        (Method::POST, format!("{path}/keys"), Some(json!({}))),
        (Method::GET, format!("{path}/keys"), None),
    ] {
        assert_eq!(ask(method.clone(), path.clone(), body).await.status, 403, "{method} {path}");
    }
    assert_eq!(ask(Method::POST, install, None).await.body, json!({ "status": "ok" }));
    assert_eq!(ask(Method::GET, "/v1/apps/enabled".to_owned(), None).await.body, json!([id]));
    bench.patch(&path, json!({ "visibility": "private" })).await;
    assert_eq!(ask(Method::GET, "/v1/apps/enabled".to_owned(), None).await.body, json!([]), "taken back");
}

#[tokio::test]
async fn app_install_creates_a_webhook_that_only_uninstall_removes() {
    let servers = Servers::new();
    let bench = Bench::with(settings(&servers)).await;
    let made = bench.post("/v1/apps", new_app()).await;
    let id = id_of(&made);
    let (enable, disable) = (format!("/v1/apps/enable?app_id={id}"), format!("/v1/apps/disable?app_id={id}"));
    for _ in 0..2 {
        assert_eq!(bench.bare_post(&bench.key, &enable).await.status, 200);
    }
    let hooks = bench.get(&format!("{P}/webhooks")).await.body;
    assert_eq!(hooks.as_array().unwrap().len(), 1);
    assert_eq!((&hooks[0]["app_id"], &hooks[0]["format"]), (&json!(id), &json!("bare")));
    let hook = format!("{P}/webhooks/{}", hooks[0]["id"].as_str().unwrap());
    for (method, path, body) in [
        (Method::PATCH, hook.clone(), Some(json!({ "enabled": false }))),
        (Method::DELETE, hook.clone(), None),
        (Method::POST, format!("{hook}/rotate-secret"), None),
    ] {
        assert_eq!(bench.ask(&bench.key, method.clone(), &path, body).await.status, 409, "{method}");
    }
    bench.patch(&format!("/v1/apps/{id}"), json!({ "webhook_url": "https://moved.example/hook" })).await;
    assert_eq!(bench.get(&hook).await.body["url"], "https://moved.example/hook", "it follows the app");
    for _ in 0..2 {
        assert_eq!(bench.bare_post(&bench.key, &disable).await.status, 200);
    }
    assert_eq!(bench.get(&format!("{P}/webhooks")).await.body, json!([]));
}

#[tokio::test]
async fn app_install_needs_completed_setup_and_delete_removes_webhooks() {
    let servers = Servers::new();
    let bench = Bench::with(settings(&servers)).await;
    let mut app = new_app();
    app["setup_completed_url"] = json!("https://tasks.example/setup");
    let id = id_of(&bench.post("/v1/apps", app).await);
    servers.is_set_up.store(false, Ordering::SeqCst);
    let enable = format!("/v1/apps/enable?app_id={id}");
    let refused = bench.bare_post(&bench.key, &enable).await;
    assert_eq!(
        (refused.status.as_u16(), &refused.body["detail"]),
        (400, &json!("App setup is not completed"))
    );
    servers.is_set_up.store(true, Ordering::SeqCst);
    assert_eq!(bench.bare_post(&bench.key, &enable).await.status, 200);
    bench.ask(&bench.key, Method::DELETE, &format!("/v1/apps/{id}"), None).await;
    assert_eq!(bench.get(&format!("{P}/webhooks")).await.body, json!([]));
    assert_eq!(bench.get("/v1/apps/enabled").await.body, json!([]));
}

#[tokio::test]
async fn app_key_is_shown_once_and_revoked_at_once() {
    let bench = Bench::with(settings(&Servers::new())).await;
    let id = id_of(&bench.post("/v1/apps", new_app()).await);
    let keys = format!("/v1/apps/{id}/keys");
    let made = bench.post(&keys, json!({ "label": "production" })).await;
    let text = made.body["secret"].as_str().unwrap().to_owned();
    assert!(text.starts_with("lak_"), "{made:?}");
    let listed = bench.get(&keys).await.body;
    assert_eq!(listed[0]["label"], "production");
    assert!(!listed.to_string().contains(&text));
    let one = format!("{keys}/{}", made.body["id"].as_str().unwrap());
    assert_eq!(bench.ask(&bench.key, Method::DELETE, &one, None).await.status, 204);
    assert_eq!(bench.ask(&bench.key, Method::DELETE, &one, None).await.status, 404);
    for _ in 0..20 {
        assert_eq!(bench.bare_post(&bench.key, &keys).await.status, 200);
    }
    assert_eq!(bench.bare_post(&bench.key, &keys).await.status, 409);
}

#[tokio::test]
async fn operator_can_forbid_apps_or_public_apps() {
    for (apps, public, private) in
        [(AppsMode::Public, 200, 200), (AppsMode::Private, 403, 200), (AppsMode::Off, 403, 403)]
    {
        let bench = Bench::with(Settings { apps, ..settings(&Servers::new()) }).await;
        let mut app = new_app();
        assert_eq!(bench.post("/v1/apps", app.clone()).await.status.as_u16(), private, "{apps:?}");
        app["visibility"] = json!("public");
        assert_eq!(bench.post("/v1/apps", app).await.status.as_u16(), public, "{apps:?}");
    }
}

/// An operator who allows public apps no more: those that were offered before could still be installed.
#[tokio::test]
async fn public_app_is_installed_by_nobody_else_once_public_apps_are_forbidden() {
    let mut bench = Bench::with(settings(&Servers::new())).await;
    let app = bench.post("/v1/apps", json!({ "name": "Tasks", "visibility": "public" })).await;
    let path = format!("/v1/apps/enable?app_id={}", app.body["id"].as_str().unwrap());
    let (bob, cid) = (bench.person("bob", Scope::ALL).await, bench.person("cid", Scope::ALL).await);
    assert_eq!(bench.bare_post(&bob, &path).await.status, 200);
    bench.start_again(Settings { apps: AppsMode::Private, ..settings(&Servers::new()) });
    for (who, status) in [(&bob, 200), (&cid, 403), (&bench.key, 200)] {
        assert_eq!(bench.bare_post(who, &path).await.status, status);
    }
}

#[tokio::test]
async fn app_limit_of_fifty_is_409_and_pages_are_linked() {
    let bench = Bench::with(settings(&Servers::new())).await;
    for n in 0..50 {
        assert_eq!(bench.post("/v1/apps", json!({ "name": format!("app {n}") })).await.status, 200);
    }
    assert_eq!(bench.post("/v1/apps", json!({ "name": "one more" })).await.status, 409);
    let page = bench.get("/v1/apps?limit=20&mine=true").await;
    assert_eq!(page.body.as_array().unwrap().len(), 20);
    assert!(page.header("link").contains("offset=20"), "{page:?}");
    assert_eq!(bench.get("/v1/apps?installed=true").await.body, json!([]));
    assert_eq!(bench.get("/v1/apps?limit=101").await.status, 422);
}

#[tokio::test]
async fn installed_app_webhook_body_is_the_conversation_itself() {
    let bench = Bench::with(settings(&Servers::new())).await;
    let id = id_of(&bench.post("/v1/apps", new_app()).await);
    bench.bare_post(&bench.key, &format!("/v1/apps/enable?app_id={id}")).await;
    let spoken = json!({ "transcript_segments": [{ "text": "Hello there", "start": 0, "end": 1 }] });
    let talk = id_of(&bench.post(&format!("{P}/conversations/from-segments"), spoken).await);
    bench.complete_all(job::Queue::Creation).await;
    let claimed = bench
        .ledger
        .outbox()
        .claim_deliveries(9, &outbox::DeliveryPolicy::default(), None)
        .await
        .unwrap()
        .claimed;
    assert_eq!(claimed.len(), 1, "{claimed:?}");
    let ann = UserId::new("ann");
    let view =
        bench.ledger.store().conversation(&ann, &records::ConversationId::new(&talk), true).await.unwrap();
    let body = api::shapes::WebhookBodies.body(&claimed[0], view.as_ref(), None, None).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&body["id"], &body["transcript_segments"][0]["text"]), (&json!(talk), &json!("Hello there")));
    assert!(body.get("type").is_none() && body.get("data").is_none(), "{body}");
}

#[tokio::test]
async fn disabled_apps_are_kept_and_cannot_be_used() {
    let servers = Servers::new();
    servers.answer(Ok(json!({ "tools": [] })));
    let mut bench = Bench::with(settings(&servers)).await;
    let mut new = new_app();
    new["manifest_url"] = json!("https://tasks.example/m");
    let app = bench.post("/v1/apps", new).await.body["id"].as_str().unwrap().to_owned();
    assert_eq!(bench.bare_post(&bench.key, &format!("/v1/apps/enable?app_id={app}")).await.status, 200);
    bench.start_again(Settings { apps: AppsMode::Off, ..settings(&servers) });
    assert_eq!(bench.get("/v1/apps/enabled").await.body, json!([]));
    for (method, path) in [
        (Method::POST, format!("/v1/apps/{app}/refresh-manifest")),
        (Method::POST, format!("/v1/apps/enable?app_id={app}")),
    ] {
        assert_eq!(bench.ask(&bench.key, method, &path, None).await.status, 403, "{path}");
    }
    assert_eq!(bench.get(&format!("/v1/apps/{app}")).await.body["installed"], true);
    bench.start_again(settings(&servers));
    assert_eq!(bench.get("/v1/apps/enabled").await.body, json!([app]), "and they are there again");
}

#[tokio::test]
async fn mcp_server_tools_are_listed_on_save_and_its_token_never_shown() {
    let servers = Servers::new();
    let bench = Bench::with(settings(&servers)).await;
    let listed = |name: &str| Ok(json!([{ "name": name, "inputSchema": { "type": "object" } }]));
    *servers.mcp.lock().unwrap() = listed("add_note");
    let mut new = new_app();
    new["mcp_url"] = json!("https://mcp.example/mcp?secret=1");
    new["mcp_token"] = json!("t0ken-of-the-app");
    let made = bench.post("/v1/apps", new.clone()).await;
    let names = |answer: &Answer| -> Vec<String> {
        let tools = answer.body["tools"].as_array().unwrap_or_else(|| panic!("{answer:?}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&made), ["add_task", "add_note"]);
    assert_eq!(made.body["sends_to"], json!(["https://mcp.example", "https://tasks.example"]));
    assert_eq!(made.body["uses"], json!(["tool_calls", "conversations"]));
    assert!(!made.body.to_string().contains("t0ken"), "{made:?}");

    let one = format!("/v1/apps/{}", id_of(&made));
    *servers.mcp.lock().unwrap() = listed("find_note");
    assert_eq!(
        names(&bench.bare_post(&bench.key, &format!("{one}/refresh-manifest")).await),
        ["add_task", "find_note"]
    );
    assert_eq!(bench.patch(&one, json!({ "mcp_token": "an0ther" })).await.status, 200);
    *servers.mcp.lock().unwrap() = listed("add_task");
    let clash = bench.patch(&one, json!({ "name": "Clash" })).await;
    assert_eq!((clash.status.as_u16(), clash.kinds()[0].1), (422, &json!(["body", "mcp_url"])));
    *servers.mcp.lock().unwrap() = Err(NoMcpTools::Malformed);
    let refresh = bench.bare_post(&bench.key, &format!("{one}/refresh-manifest")).await;
    assert_eq!((refresh.status.as_u16(), refresh.kinds()[0].1), (422, &json!(["path", "app_id"])));
    assert_eq!(names(&bench.get(&one).await), ["add_task", "find_note"], "what is refused changes nothing");
    let asked = servers.tokens.lock().unwrap().len();
    for other in
        ["https://other.example/mcp", "https://mcp.example:8443/mcp", "https://mcp.example.evil.example/"]
    {
        let moved = bench.patch(&one, json!({ "mcp_url": other })).await;
        assert_eq!(
            (moved.status.as_u16(), moved.kinds()[0].1),
            (422, &json!(["body", "mcp_token"])),
            "{other}"
        );
    }
    assert_eq!(servers.tokens.lock().unwrap().len(), asked, "no other server was asked");
    let own = bench.patch(&one, json!({ "mcp_url": null })).await;
    assert_eq!((names(&own), &own.body["mcp_url"]), (vec!["add_task".to_owned()], &json!(null)));
    *servers.mcp.lock().unwrap() = listed("add_note");
    assert_eq!(bench.patch(&one, json!({ "mcp_url": "https://mcp.example/mcp" })).await.status, 200);
    let (first, other) = (Some("t0ken-of-the-app".to_owned()), Some("an0ther".to_owned()));
    let sent = [first.clone(), first, other.clone(), other.clone(), other, None];
    assert_eq!(*servers.tokens.lock().unwrap(), sent, "a token goes with its server");

    for (field, bad) in [("mcp_url", "http://mcp.example"), ("mcp_token", "with space")] {
        new[field] = json!(bad);
        let refused = bench.post("/v1/apps", new.clone()).await;
        assert_eq!(refused.kinds().last().unwrap().1, &json!(["body", field]), "{refused:?}");
        new[field] = json!(null);
    }
}
