//! `Bench`: the API over a database of its own, with one user and a key.

use std::{collections::HashMap, sync::Arc, time::Duration};

use api::{CheckUrl, Metrics, Scope, Settings};
use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Method, Request, StatusCode},
};
use db::Shard;
use job::{Outcome, Queue, WorkerId};
use ledger::{ClaimRequest, Completion, Ledger, Results, Shards, StoredJob};
use records::{EventKind, UserId};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use store::{NewKey, UserChange};
use testbed::TestDatabase;
use tower::ServiceExt;

use crate::contract;

/// Connections of the service, besides those for renewals and wake-ups.
pub(crate) const CONNECTIONS: u32 = 8;

pub(crate) fn few_connections() -> ledger::Settings {
    ledger::Settings { connections: CONNECTIONS, ..ledger::Settings::default() }
}

/// The prefix that the documents call P.
pub(crate) const P: &str = "/v1/dev/user";

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    /// The error code. `body` keeps FastAPI's `detail` only: the other fields were compared with the headers.
    pub(crate) beside: Option<String>,
}

/// The code of a refusal whose `doc_url` and `request_id` are right.
fn beside(headers: &HeaderMap, body: &Value) -> Option<String> {
    body.get("detail")?;
    let code = body["code"].as_str().unwrap_or_else(|| panic!("no code: {body}"));
    assert_eq!(body["doc_url"], format!("/docs/errors#{code}"));
    assert_eq!(body["request_id"], headers["x-request-id"].to_str().unwrap());
    Some(code.to_owned())
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The types of a 422's problems.
    pub(crate) fn kinds(&self) -> Vec<(&str, &Value)> {
        let problems = self.body["detail"].as_array().unwrap();
        problems.iter().map(|problem| (problem["type"].as_str().unwrap(), &problem["loc"])).collect()
    }
}

pub(crate) fn service(shards: impl Into<Shards>, settings: Settings) -> Router {
    let metrics = Metrics::register(&prometheus::Registry::new()).unwrap();
    let check: CheckUrl = Arc::new(|url| url.starts_with("https://"));
    api::router(shards, check, settings, metrics)
}

/// Creates the user if missing, and returns a new key of theirs that names `shard`.
pub(crate) async fn person_in(ledger: &Ledger, user: &str, scopes: &[Scope], shard: Shard) -> String {
    let user = UserId::new(user);
    ledger.store().create_user(&user, &UserChange::default()).await.unwrap();
    let made = api::keys::generate(rand::random(), shard);
    let key = NewKey {
        id: made.hint.clone(),
        name: "test".to_owned(),
        prefix: made.hint,
        sha256: made.sha256,
        scopes: scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
        expires_at: None,
    };
    assert!(ledger.store().create_key(&user, &key).await.unwrap());
    made.plaintext.expose_secret().to_owned()
}

/// Four shards, each a schema of one database, migrated.
pub(crate) async fn four_shards() -> (TestDatabase, Shards) {
    let database = TestDatabase::empty().await;
    let shards = Shards::new(vec![database.options().into(); 4], &few_connections());
    for ledger in shards.iter() {
        assert!(matches!(ledger.db().migrate().await.unwrap(), db::Migrated::Applied(_)));
    }
    (database, shards)
}

pub(crate) struct Bench {
    pub(crate) ledger: Ledger,
    pub(crate) app: Router,
    /// A key of the user `ann` with every scope.
    pub(crate) key: String,
    pub(crate) database: TestDatabase,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        Self::with(quick()).await
    }

    pub(crate) async fn with(settings: Settings) -> Self {
        let database = TestDatabase::new().await;
        let ledger = Ledger::new(database.options(), few_connections());
        Self::over(database, ledger, settings).await
    }

    /// A service whose ledger reaches `database` as the test configured it.
    pub(crate) async fn over(database: TestDatabase, ledger: Ledger, settings: Settings) -> Self {
        let app = service(ledger.clone(), settings);
        let mut bench = Self { ledger, app, key: String::new(), database };
        bench.key = bench.person("ann", Scope::ALL).await;
        bench
    }

    /// Restarts the service with other settings.
    pub(crate) fn start_again(&mut self, settings: Settings) {
        self.app = service(self.ledger.clone(), settings);
    }

    /// Runs a statement of the test's own.
    pub(crate) async fn run(&self, sql: &str) {
        self.database.run(sql).await;
    }

    /// Creates the user if missing, and returns a new key of theirs.
    pub(crate) async fn person(&self, user: &str, scopes: &[Scope]) -> String {
        person_in(&self.ledger, user, scopes, Shard::default()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask(&self.key, Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.ask(&self.key, Method::POST, path, Some(body)).await
    }

    pub(crate) async fn ask(&self, key: &str, method: Method, path: &str, body: Option<Value>) -> Answer {
        let body = body.map(|body| body.to_string());
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {key}"))
            .header("accept", "application/json");
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        self.send(request.body(Body::from(body.unwrap_or_default())).unwrap()).await
    }

    /// A GET with `If-None-Match`.
    pub(crate) async fn get_known(&self, path: &str, tag: &str) -> Answer {
        let request = Request::builder()
            .uri(path)
            .header("authorization", format!("Bearer {}", self.key))
            .header("if-none-match", tag);
        self.send(request.body(Body::empty()).unwrap()).await
    }

    /// Sends a request, and checks the response against the OpenAPI document.
    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let mut answer = self.send_undocumented(request).await;
        contract::check(&method, &path, &answer);
        if answer.beside.is_some() {
            answer.body = json!({ "detail": answer.body["detail"] });
        }
        answer
    }

    /// Sends a request whose response is not documented.
    pub(crate) async fn send_undocumented(&self, request: Request<Body>) -> Answer {
        let response = self.app.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() };
        let beside = beside(&parts.headers, &body);
        Answer { status: parts.status, headers: parts.headers, body, beside }
    }

    /// Claims everything that is due in a queue, as a worker would.
    pub(crate) async fn claim_all(&self, queue: Queue) -> Vec<StoredJob> {
        let worker = WorkerId("test".to_owned());
        let request =
            ClaimRequest { queue, worker, slots: 100, share: 100, most: 100, running: HashMap::new() };
        self.ledger.claim(&request).await.unwrap().claims
    }

    /// Claims and completes everything that is due in a queue, as a worker would. Returns how many jobs there were.
    pub(crate) async fn complete_all(&self, queue: Queue) -> usize {
        let claims = self.claim_all(queue).await;
        for claimed in &claims {
            let results = Results {
                engine: "test".to_owned(),
                announcements: vec![EventKind::ConversationCompleted],
                ..Results::default()
            };
            let same = Arc::new(|_: &str, _: &str| false);
            let completion = Completion { claimed: claimed.clone(), outcome: Outcome::Kept, results, same };
            self.ledger.complete(&Arc::new(completion)).await.unwrap();
        }
        claims.len()
    }
}

/// Settings under which creates do not wait, because no worker runs.
pub(crate) fn quick() -> Settings {
    Settings { create_wait: Duration::ZERO, rate_per_minute: 0, ..Settings::default() }
}
