//! A console over a database with one user, and a simple browser.

use std::net::SocketAddr;

use axum::{
    Router,
    body::Body,
    extract::ConnectInfo,
    http::{Request, StatusCode, header},
};
use job::{FailureCode, JobId, WorkerId, shard_of_user};
use ledger::{CreateOutcome, Ledger, NamedClaim, NewContent, NewConversation, Settings, Shards, Transition};
use records::{ConversationId, Source, UserId};
use testbed::TestDatabase;
use tower::ServiceExt;

use crate::{
    config::{ConsoleAccess, console_access::entry},
    console::router,
};

/// What Ann said: never on a page.
pub(super) const SAID: &str = "The orchid needs water on Thursday";

/// What sessions are signed with.
pub(super) const SECRET: [u8; 32] = [7; 32];

/// Ledgers and the console over them.
pub(super) struct World {
    /// The only one, or the first.
    pub(super) ledger: Ledger,
    pub(super) shards: Shards,
    console: Router,
    pub(super) database: TestDatabase,
}

/// What came back.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: header::HeaderMap,
    pub(super) text: String,
}

impl Answer {
    /// Where it sends the browser.
    pub(super) fn location(&self) -> &str {
        self.headers.get(header::LOCATION).and_then(|to| to.to_str().ok()).unwrap_or_default()
    }

    /// The token in its form.
    pub(super) fn token(&self) -> &str {
        let (_, rest) = self.text.split_once("name=\"token\" value=\"").expect("the page has a form");
        rest.split('"').next().unwrap()
    }
}

/// The visitor of a request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Who<'a> {
    pub(super) cookie: &'a str,
    pub(super) header: Option<(&'a str, &'a str)>,
    pub(super) second: Option<(&'a str, &'a str)>,
    pub(super) peer: Option<&'a str>,
    pub(super) host: Option<&'a str>,
}

impl World {
    /// With this access.
    pub(super) async fn with_access(access: ConsoleAccess) -> Self {
        let database = TestDatabase::new().await;
        let ledger = Ledger::new(database.options(), Settings { connections: 4, ..Settings::default() });
        assert!(ledger.store().create_user(&UserId::new("ann"), &Default::default()).await.unwrap());
        Self::over(database, ledger.into(), access)
    }

    /// With the keys "olga's" (operator) and "ron's" (reader).
    pub(super) async fn with_keys() -> Self {
        Self::with_access(keys()).await
    }

    /// The same over two shards, each with a user ([`user_in`]).
    pub(super) async fn of_two_shards() -> Self {
        let database = TestDatabase::empty().await;
        let settings = Settings { connections: 4, ..Settings::default() };
        let shards = Shards::new(vec![database.options().into(); 2], &settings);
        for (number, ledger) in (0..).zip(shards.iter()) {
            ledger.db().migrate().await.unwrap();
            assert!(ledger.store().create_user(&user_in(number), &Default::default()).await.unwrap());
        }
        Self::over(database, shards, keys())
    }

    fn over(database: TestDatabase, shards: Shards, access: ConsoleAccess) -> Self {
        let console = router(shards.clone(), access, SECRET, Some("https://boards.example"));
        Self { ledger: shards.first().clone(), shards, console, database }
    }

    /// The cookie of the owner of `key`.
    pub(super) async fn cookie(&self, key: &str) -> String {
        let answer = self.post("/console/login", &[("key", key)], Who::default()).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
        let cookie = answer.headers[header::SET_COOKIE].to_str().unwrap();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        cookie.split(';').next().unwrap().to_owned()
    }

    /// A page.
    pub(super) async fn get(&self, path: &str, who: Who<'_>) -> Answer {
        self.ask(Request::get(path), String::new(), who).await
    }

    /// A form that is sent.
    pub(super) async fn post(&self, path: &str, fields: &[(&str, &str)], who: Who<'_>) -> Answer {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = Request::post(path).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.ask(request, body, who).await
    }

    /// What the script of a page is sent for its live part; `shown` is the digest of what it shows.
    pub(super) async fn part(&self, path: &str, shown: Option<&str>, who: Who<'_>) -> Answer {
        let request = Request::get(path).header("hx-request", "true");
        let request = match shown {
            Some(digest) => request.header(header::IF_NONE_MATCH, digest),
            None => request,
        };
        self.ask(request, String::new(), who).await
    }

    async fn ask(&self, request: axum::http::request::Builder, body: String, who: Who<'_>) -> Answer {
        let response = self.answer(request, body, who).await;
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, 1 << 22).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status: parts.status, headers: parts.headers, text }
    }

    async fn answer(
        &self,
        request: axum::http::request::Builder,
        body: String,
        who: Who<'_>,
    ) -> axum::response::Response {
        let mut request = request.header(header::HOST, who.host.unwrap_or("localhost:8081"));
        if !who.cookie.is_empty() {
            request = request.header(header::COOKIE, who.cookie);
        }
        for (name, value) in [who.header, who.second].into_iter().flatten() {
            request = request.header(name, value);
        }
        let peer: SocketAddr = who.peer.unwrap_or("127.0.0.1:50000").parse().unwrap();
        let request = request.extension(ConnectInfo(peer)).body(Body::from(body)).unwrap();
        self.console.clone().oneshot(request).await.unwrap()
    }

    /// A conversation of Ann's that was admitted.
    pub(super) async fn admitted(&self, id: &str) -> JobId {
        self.admitted_of(&UserId::new("ann"), id).await
    }

    /// The same of another user.
    pub(super) async fn admitted_of(&self, user: &UserId, id: &str) -> JobId {
        match self.shards.of_user(user).create_conversation(user, talk(id), None).await.unwrap() {
            CreateOutcome::Admitted(admitted) => admitted.job_id,
            other => panic!("not admitted: {other:?}"),
        }
    }

    /// A dead letter of Ann's.
    pub(super) async fn dead(&self, id: &str) -> JobId {
        self.failed(&UserId::new("ann"), id, FailureCode::InvalidJob).await
    }

    /// A job whose first run failed of `code`: a dead letter, or one that backs off.
    pub(super) async fn failed(&self, user: &UserId, id: &str, code: FailureCode) -> JobId {
        let (job, ledger) = (self.admitted_of(user, id).await, self.shards.of_user(user));
        let generation = ledger.job(&job).await.unwrap().unwrap().job.generation;
        let claim = ledger.claim_delivery(&job, generation, &WorkerId("<b>w</b>".into())).await.unwrap();
        let NamedClaim::Granted { claimed, .. } = claim else { panic!("{claim:?}") };
        let edge = Transition::Fail { code, retry_after: None, jitter_permille: 0 };
        ledger.settle(&claimed.lease_token(), edge, None).await.unwrap();
        job
    }

    /// A change of the database by another program.
    pub(super) async fn run(&self, sql: &str) {
        self.database.run(sql).await;
    }

    /// A job's status.
    pub(super) async fn status(&self, job: &JobId) -> &'static str {
        self.ledger.job(job).await.unwrap().unwrap().job.state.status()
    }
}

fn keys() -> ConsoleAccess {
    let keys = [entry("olga", true, "olga's"), entry("ron", false, "ron's")];
    ConsoleAccess::new(&keys, None, &[]).unwrap()
}

/// The user of one of two shards.
pub(super) fn user_in(shard: u16) -> UserId {
    let names = (0..).map(|number| format!("user-{number}"));
    UserId::new(names.into_iter().find(|name| shard_of_user(name, 2) == shard).unwrap())
}

fn talk(id: &str) -> NewConversation {
    let text = NewContent::Text { text: SAID.into(), text_source: "message".into(), text_source_spec: None };
    NewConversation::new(ConversationId::new(id), text, Source::new("phone"))
}
