//! A client of the MCP servers that apps name: streamable HTTP through `outside`, a session for each use. Only what is needed:
//! listing tools and calling one. What the server asks of its client is not answered.

use std::time::Duration;

use apps::{
    Answered, MAX_TOOLS, ToolFailure,
    mcp::{self, Response},
};
use outside::{Call, Caller, Failure, Heard, Method, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::time::{Instant, timeout};

/// Pages of tools that are read.
const MAX_PAGES: usize = 16;
/// What is kept of a tool that is listed: what [`apps::add_mcp_tools`] reads.
const KEPT: [&str; 4] = ["name", "title", "description", "inputSchema"];
/// How long the end of a session may take: its answer does not matter.
const CLOSING: Duration = Duration::from_secs(1);
const SESSION: &str = "mcp-session-id";

/// An MCP server, and how it is asked.
#[derive(Debug)]
pub struct McpServer<'a> {
    pub caller: &'a Caller,
    pub user: &'a str,
    pub url: Url,
    pub token: Option<&'a SecretString>,
    /// For all that is asked of it, the opening of the session included.
    pub timeout: Duration,
    /// How long each answer may be, and what is kept of all pages of tools.
    pub max_bytes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpFailure {
    /// There was no answer, or one with another status than 2xx.
    Heard(Heard),
    /// It is no answer of an MCP server.
    Malformed,
    /// The server refused, in words that were made fit to be shown.
    Refused(String),
}

struct Session<'a> {
    server: &'a McpServer<'a>,
    ends: Instant,
    id: Option<String>,
    version: String,
}

impl McpServer<'_> {
    /// The tools that the server lists, unchecked; of more than an app may have, one more.
    pub async fn tools(&self) -> Result<Vec<Value>, McpFailure> {
        let session = self.open().await?;
        let listed = session.tools().await;
        session.close().await;
        listed
    }

    /// Calls a tool: `message` is the whole request.
    pub async fn call(&self, message: &Value) -> Answered {
        let session = match self.open().await {
            Ok(session) => session,
            Err(failure) => return unanswered(failure),
        };
        let answered = match session.ask(message).await {
            Ok(response) => mcp::answered(response),
            Err(failure) => unanswered(failure),
        };
        session.close().await;
        answered
    }

    async fn open(&self) -> Result<Session<'_>, McpFailure> {
        let mut session =
            Session { server: self, ends: Instant::now() + self.timeout, id: None, version: String::new() };
        let (heard, id) = session.send(Method::POST, Some(&mcp::initialize())).await;
        let begun = result(mcp::response(&body(heard)?))?;
        session.version = mcp::version(&begun).to_owned();
        session.id = id;
        // Accepted or not: a server that minds it says so at the next request.
        session.send(Method::POST, Some(&mcp::initialized())).await;
        Ok(session)
    }
}

impl Session<'_> {
    async fn tools(&self) -> Result<Vec<Value>, McpFailure> {
        let (mut tools, mut cursor, mut bytes) = (Vec::new(), None::<String>, 0);
        for _ in 0..MAX_PAGES {
            let response = self.ask(&mcp::list_tools(cursor.as_deref())).await?;
            let (page, next) = mcp::page(result(response)?).ok_or(McpFailure::Malformed)?;
            let room = (MAX_TOOLS + 1).saturating_sub(tools.len());
            for tool in page.into_iter().take(room).map(kept) {
                // Of each page it is bounded by its length; a list of many is held while the server takes its time.
                bytes += tool.to_string().len();
                if bytes > self.server.max_bytes {
                    return Err(McpFailure::Heard(Heard::TooLong));
                }
                tools.push(tool);
            }
            cursor = next;
            if cursor.is_none() || tools.len() > MAX_TOOLS {
                return Ok(tools);
            }
        }
        Err(McpFailure::Malformed)
    }

    async fn ask(&self, message: &Value) -> Result<Option<Response>, McpFailure> {
        Ok(mcp::response(&body(self.send(Method::POST, Some(message)).await.0)?))
    }

    /// Sends a message, which is processed once at most; with the session's id of the answer.
    async fn send(&self, method: Method, message: Option<&Value>) -> (Heard, Option<String>) {
        let mut headers = vec![("accept".to_owned(), "application/json, text/event-stream".to_owned())];
        let mut head = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
        if message.is_some() {
            head("content-type", "application/json");
        }
        if let Some(token) = self.server.token {
            head("authorization", &format!("Bearer {}", token.expose_secret()));
        }
        if let Some(id) = &self.id {
            head(SESSION, id);
        }
        if !self.version.is_empty() {
            head("mcp-protocol-version", &self.version);
        }
        let call = Call {
            method,
            url: self.server.url.clone(),
            headers,
            body: message.map(|message| message.to_string().into_bytes()),
            timeout: self.ends.saturating_duration_since(Instant::now()),
            max_bytes: self.server.max_bytes,
        };
        self.server.caller.call_for(self.server.user, call, SESSION).await
    }

    /// Ends the session, if the server keeps sessions.
    async fn close(self) {
        if self.id.is_some() {
            let _ = timeout(CLOSING, self.send(Method::DELETE, None)).await;
        }
    }
}

fn kept(tool: Value) -> Value {
    match tool {
        Value::Object(mut fields) => {
            let kept = |name: &str| Some((name.to_owned(), fields.remove(name)?));
            Value::Object(KEPT.into_iter().filter_map(kept).collect())
        }
        other => other,
    }
}

fn body(heard: Heard) -> Result<Vec<u8>, McpFailure> {
    match heard {
        Heard::Answer { status: 200..=299, body } => Ok(body),
        // Some servers answer 4xx with what is wrong; it is as good as a refusal.
        Heard::Answer { status, body } => match mcp::response(&body) {
            Some(Response::Refused(words)) if status >= 400 && !words.is_empty() => {
                Err(McpFailure::Refused(words))
            }
            _ => Err(McpFailure::Heard(Heard::Answer { status, body: Vec::new() })),
        },
        other => Err(McpFailure::Heard(other)),
    }
}

fn result(response: Option<Response>) -> Result<serde_json::Map<String, Value>, McpFailure> {
    match response {
        Some(Response::Result(result)) => Ok(result),
        Some(Response::Refused(words)) => Err(McpFailure::Refused(words)),
        None => Err(McpFailure::Malformed),
    }
}

fn unanswered(failure: McpFailure) -> Answered {
    Answered::Failed(match failure {
        McpFailure::Refused(text) if !text.is_empty() => {
            return Answered::AppError { text, setup_url: None };
        }
        McpFailure::Refused(_) | McpFailure::Malformed => ToolFailure::Malformed,
        McpFailure::Heard(heard) => failure_of(&heard),
    })
}

/// How a call failed that brought no usable answer, by its status if there was one.
pub(crate) fn failure_of(heard: &Heard) -> ToolFailure {
    match heard {
        Heard::Answer { status: 300..=399, .. } => ToolFailure::Redirect,
        Heard::Answer { status: 400..=499, .. } => ToolFailure::Status4xx,
        Heard::Answer { status: 500..=599, .. } => ToolFailure::Status5xx,
        Heard::Answer { .. } | Heard::Broken => ToolFailure::Malformed,
        Heard::TooLong => ToolFailure::TooLong,
        Heard::Failed(Failure::Refused) => ToolFailure::RefusedAddress,
        Heard::Failed(Failure::Timeout) => ToolFailure::Timeout,
        // A user is to see no difference: it would show which inner names there are.
        Heard::Failed(Failure::RefusedAddress | Failure::Unreachable) => ToolFailure::Unreachable,
    }
}
