//! Calls apps' servers when an app is saved or installed: guarded, without redirects, within 10 seconds.

use std::time::Duration;

use api::{AppServers, NoManifest};
use futures::future::BoxFuture;
use outside::{Call, Caller, Heard, Url, Verb};
use records::UserId;
use serde_json::Value;

const TIMEOUT: Duration = Duration::from_secs(10);
/// Of what says whether a user is connected.
const SETUP_BYTES: usize = 16 * 1_024;

/// Calls through `outside`.
#[derive(Debug)]
pub(crate) struct Servers(pub(crate) Caller);

impl Servers {
    async fn get(&self, user: &UserId, url: Url, max_bytes: usize) -> Heard {
        let headers = vec![("accept".to_owned(), "application/json".to_owned())];
        let call = Call { verb: Verb::Get, url, headers, body: None, timeout: TIMEOUT, max_bytes };
        self.0.call(user.as_str(), call).await
    }
}

impl AppServers for Servers {
    fn manifest<'a>(&'a self, user: &'a UserId, url: &'a str) -> BoxFuture<'a, Result<Vec<u8>, NoManifest>> {
        Box::pin(async move {
            let url = Url::parse(url).map_err(|_| NoManifest::Unreachable)?;
            match self.get(user, url, apps::MAX_MANIFEST_BYTES).await {
                Heard::Answer { status: 200, body } => Ok(body),
                Heard::Answer { status: 300..=399, .. } => Err(NoManifest::Redirect),
                Heard::Answer { status, .. } => Err(NoManifest::Status(status)),
                Heard::TooLong => Err(NoManifest::TooLong),
                Heard::Broken => Err(NoManifest::Broken),
                Heard::Timeout => Err(NoManifest::Timeout),
                Heard::Refused | Heard::RefusedAddress | Heard::Unreachable => Err(NoManifest::Unreachable),
            }
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
