//! Calls apps' servers when an app is saved or installed: guarded, without redirects, within 10 seconds.

use std::time::Duration;

use api::{AppServers, NoManifest, NoMcpTools};
use futures::future::BoxFuture;
use outside::{Call, Caller, Failure, Heard, Method, Url};
use records::UserId;
use secrecy::SecretString;
use serde_json::Value;
use worker::{McpFailure, McpServer};

const TIMEOUT: Duration = Duration::from_secs(10);
/// Of what says whether a user is connected.
const SETUP_BYTES: usize = 16 * 1_024;

/// Calls through `outside`.
pub(crate) struct Servers(pub(crate) Caller);

impl Servers {
    async fn get(&self, user: &UserId, url: Url, max_bytes: usize) -> Heard {
        let headers = vec![("accept".to_owned(), "application/json".to_owned())];
        let call = Call { method: Method::GET, url, headers, body: None, timeout: TIMEOUT, max_bytes };
        self.0.call(user.as_str(), call).await
    }
}

impl AppServers for Servers {
    fn manifest<'a>(&'a self, user: &'a UserId, url: &'a str) -> BoxFuture<'a, Result<Vec<u8>, NoManifest>> {
        Box::pin(async move {
            let url = Url::parse(url).map_err(|_| NoManifest::Unreachable)?;
            match self.get(user, url, apps::MAX_MANIFEST_BYTES).await {
                Heard::Answer { status: 200, body } => Ok(body),
                other => Err(unread(&other)),
            }
        })
    }

    fn mcp_tools<'a>(
        &'a self,
        user: &'a UserId,
        url: &'a str,
        token: Option<&'a SecretString>,
    ) -> BoxFuture<'a, Result<Vec<Value>, NoMcpTools>> {
        Box::pin(async move {
            let url = Url::parse(url).map_err(|_| NoMcpTools::Unread(NoManifest::Unreachable))?;
            let (caller, user, max_bytes) = (&self.0, user.as_str(), apps::MAX_MANIFEST_BYTES);
            let server = McpServer { caller, user, url, token, timeout: TIMEOUT, max_bytes };
            server.tools().await.map_err(|failure| match failure {
                McpFailure::Heard(heard) => NoMcpTools::Unread(unread(&heard)),
                McpFailure::Malformed => NoMcpTools::Malformed,
                McpFailure::Refused(words) => NoMcpTools::Refused(words),
            })
        })
    }

    fn is_set_up<'a>(&'a self, user: &'a UserId, url: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let Ok(mut url) = Url::parse(url) else { return false };
            url.query_pairs_mut().append_pair("uid", user.as_str());
            let Heard::Answer { status: 200, body } = self.get(user, url, SETUP_BYTES).await else {
                return false;
            };
            let answer: Option<Value> = serde_json::from_slice(&body).ok();
            answer.is_some_and(|answer| answer["is_setup_completed"] == true)
        })
    }
}

fn unread(heard: &Heard) -> NoManifest {
    match heard {
        Heard::Answer { status: 300..=399, .. } => NoManifest::Redirect,
        Heard::Answer { status, .. } => NoManifest::Status(*status),
        Heard::TooLong => NoManifest::TooLong,
        Heard::Broken => NoManifest::Broken,
        Heard::Failed(Failure::Timeout) => NoManifest::Timeout,
        Heard::Failed(_) => NoManifest::Unreachable,
    }
}
