//! Calling the tools of installed apps: one try, guarded, bounded, signed; the answer is read by the rules of `apps`.

use std::{sync::Arc, time::Duration};

use apps::{Answered, Manifest, Outgoing, Tool, ToolFailure};
use ledger::Shards;
use outside::{Call, Caller, Heard, Url, signed_headers};
use records::UserId;
use serde_json::{Map, Value};
use store::InstalledApp;

use crate::breaker::Breaker;
use crate::chance::Chance;
use crate::mcp::{McpServer, failure_of};
use crate::metrics::Metrics;

/// How much of an answer is read.
const MAX_ANSWER_BYTES: usize = 64 * 1_024;

/// Calls tools of installed apps. Cheap to clone.
#[derive(Clone)]
pub struct Tools {
    shards: Shards,
    caller: Caller,
    timeout: Duration,
    metrics: Metrics,
    chance: Chance,
    breaker: Arc<Breaker>,
    allowed: bool,
}

impl Tools {
    /// A caller whose calls take `timeout` at most; `seed` is where the ids of its calls come from.
    pub fn new(
        shards: impl Into<Shards>,
        caller: Caller,
        timeout: Duration,
        metrics: Metrics,
        seed: u64,
    ) -> Self {
        Self {
            shards: shards.into(),
            caller,
            timeout,
            metrics,
            chance: Chance::new(seed),
            breaker: Arc::default(),
            allowed: true,
        }
    }

    /// The same, where apps may be switched off altogether: then no user has any.
    #[must_use]
    pub fn allowed(self, allowed: bool) -> Self {
        Self { allowed, ..self }
    }

    /// Calls `tool_name` of the app `app_id`, which `user` has installed, with these arguments. The user, the app, the tool and
    /// the user's last known location are added: no argument can take their place.
    pub async fn call(
        &self,
        user: &UserId,
        app_id: &str,
        tool_name: &str,
        arguments: &Map<String, Value>,
    ) -> Answered {
        let answered = self.call_tool(user, app_id, tool_name, arguments).await;
        let outcome = outcome(&answered);
        self.metrics.count_tool_call(outcome);
        tracing::info!(app_id, outcome, "called a tool");
        answered
    }

    async fn call_tool(
        &self,
        user: &UserId,
        app_id: &str,
        tool_name: &str,
        arguments: &Map<String, Value>,
    ) -> Answered {
        if !self.allowed {
            return Answered::Unknown;
        }
        let ledger = self.shards.of_user(user);
        let app = match ledger.db().in_time(ledger.store().installed_app(user, app_id)).await {
            Ok(Some(app)) => app,
            Ok(None) => return Answered::Unknown,
            Err(error) => return internal(&error),
        };
        let manifest = app.manifest.as_deref().and_then(Manifest::from_text).unwrap_or_default();
        let Some(tool) = manifest.tool(tool_name) else { return Answered::Unknown };
        if let Err(problems) = apps::check_arguments(tool, arguments) {
            return Answered::BadArguments(problems);
        }
        if tool.input.is_some() {
            return self.call_mcp(user, &app, tool, arguments).await;
        }
        let place = match ledger.db().in_time(ledger.store().location(user)).await {
            Ok(place) => place,
            Err(error) => return internal(&error),
        };
        let Ok(outgoing) = apps::tool_request(tool, user.as_str(), app_id, arguments, place.as_ref()) else {
            return Answered::Failed(ToolFailure::TooLong);
        };
        let Some(call) = self.signed(&app, outgoing) else { return Answered::Failed(ToolFailure::Internal) };
        if !self.breaker.admits(app_id) {
            return Answered::Failed(ToolFailure::Unreachable);
        }
        let heard = self.caller.call(user.as_str(), call).await;
        let answered = read(tool, heard, setup_url(&app, user).as_deref());
        self.note(&app, is_outage(&answered)).await;
        answered
    }

    /// The call of a tool that the app's MCP server lends.
    async fn call_mcp(
        &self,
        user: &UserId,
        app: &InstalledApp,
        tool: &Tool,
        arguments: &Map<String, Value>,
    ) -> Answered {
        // A token that cannot be opened is not left out: the server would be asked as a stranger.
        let (Some(_), Ok(url)) = (&app.secret, Url::parse(&tool.endpoint)) else {
            return Answered::Failed(ToolFailure::Internal);
        };
        if !self.breaker.admits(&app.id) {
            return Answered::Failed(ToolFailure::Unreachable);
        }
        let server = McpServer {
            caller: &self.caller,
            user: user.as_str(),
            url,
            token: app.mcp_token.as_ref(),
            timeout: self.timeout,
            max_bytes: MAX_ANSWER_BYTES,
        };
        let message = apps::mcp::call_tool(&tool.name, user.as_str(), &app.id, arguments);
        let answered = server.call(&message).await;
        self.note(app, is_outage(&answered)).await;
        answered
    }

    /// The request with the signature by which an app can know us: over the body, or over the query.
    fn signed(&self, app: &InstalledApp, outgoing: Outgoing) -> Option<Call> {
        let (id, timestamp) = (format!("msg_{}", self.chance.id()), app.now.timestamp());
        let mut headers = signed_headers([app.secret.as_ref()?], &id, timestamp, outgoing.signed()).ok()?;
        headers.push(("accept".to_owned(), "application/json".to_owned()));
        if outgoing.body.is_some() {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        Some(Call {
            method: outgoing.method.as_str().parse().ok()?,
            url: outgoing.url,
            headers,
            body: outgoing.body,
            timeout: self.timeout,
            max_bytes: MAX_ANSWER_BYTES,
        })
    }

    /// Only a server that is down counts against an app: what it refuses is between it and its user.
    async fn note(&self, app: &InstalledApp, is_outage: bool) {
        self.breaker.note(&app.id, is_outage);
        let ledger = self.shards.of_user(&app.owner);
        if let Err(error) =
            ledger.db().in_time(ledger.store().note_app_outcome(&app.owner, &app.id, is_outage)).await
        {
            tracing::warn!(%error, app_id = app.id, "how an app answered was not noted");
        }
    }
}

fn internal(error: &db::Error) -> Answered {
    tracing::warn!(%error, "an app could not be looked up");
    Answered::Failed(ToolFailure::Internal)
}

/// Where this user connects to the app.
fn setup_url(app: &InstalledApp, user: &UserId) -> Option<String> {
    let mut url = Url::parse(app.setup_url.as_deref()?).ok()?;
    url.query_pairs_mut().append_pair("uid", user.as_str());
    Some(url.into())
}

fn read(tool: &Tool, heard: Heard, setup_url: Option<&str>) -> Answered {
    match heard {
        Heard::Answer { status, body } => apps::read_answer(tool, status, &body, setup_url),
        unanswered => Answered::Failed(failure_of(&unanswered)),
    }
}

fn is_outage(answered: &Answered) -> bool {
    matches!(answered, Answered::Failed(failure) if failure.is_outage())
}

/// What a call is counted as.
fn outcome(answered: &Answered) -> &'static str {
    match answered {
        Answered::Result(_) => "result",
        Answered::AppError { .. } => "app_error",
        Answered::BadArguments(_) => "bad_arguments",
        Answered::Unknown => "unknown",
        Answered::Failed(failure) => failure.as_str(),
    }
}
