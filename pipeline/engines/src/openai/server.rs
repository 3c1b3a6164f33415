//! One HTTP exchange with a model server, and what its failures mean. Nothing that the server wrote
//! leaves this file but the body of a good answer.

use std::time::Duration;

use job::FailureCode;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use super::BadConfig;
use super::complaint::{Complaint, Field};
use super::retry_after::asked_for;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The largest answer: an embedding of some thousand numbers, or a long text, with room to spare.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;
/// The largest complaint that is read; what is longer explains nothing to a program.
const MAX_COMPLAINT_BYTES: usize = 64 * 1024;

/// Why an exchange gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// 400, 404 or 422: the server may merely not know a field of the request, perhaps this one.
    NotUnderstood(Option<Field>),
    /// Anything else.
    Failed {
        /// Why.
        code: FailureCode,
        /// How long the server asked to be left alone.
        retry_after: Option<Duration>,
        /// Whether the same request may be answered a moment later.
        passing: bool,
    },
}

impl Fault {
    fn lasting(code: FailureCode) -> Self {
        Self::Failed { code, retry_after: None, passing: false }
    }

    /// Whether the server was not there, or broken, or silent: what its circuit counts.
    pub(super) fn is_unavailability(self) -> bool {
        let Self::Failed { code, .. } = self else { return false };
        matches!(code, FailureCode::ModelUnavailable | FailureCode::ModelTimeout)
    }

    /// What is counted as the outcome of a call.
    pub(super) fn outcome(self) -> &'static str {
        match self {
            Self::NotUnderstood(_) => "not_understood",
            Self::Failed { code, .. } => code.as_str(),
        }
    }
}

/// An OpenAI-compatible server and the key it is asked with.
#[derive(Clone)]
pub(super) struct Server {
    client: Client,
    base: Url,
    authorization: Option<HeaderValue>,
    users_key: bool,
}

impl Server {
    pub(super) fn new(base_url: &str, key: Option<&SecretString>) -> Result<Self, BadConfig> {
        let base = base_of(base_url)?;
        let authorization = key.map(bearer).transpose()?;
        Ok(Self { client: client(&base)?, base, authorization, users_key: false })
    }

    pub(super) fn with_users_key(&self, key: &SecretString) -> Result<Self, BadConfig> {
        Ok(Self { authorization: Some(bearer(key)?), users_key: true, ..self.clone() })
    }

    /// The host and, when it is not the scheme's own, the port.
    pub(super) fn host(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        self.base.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Posts `body` to `path` below the base URL and returns the body of a 2xx answer.
    pub(super) async fn post(&self, path: &str, body: &impl Serialize) -> Result<Vec<u8>, Fault> {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        let mut request = self.client.post(url).json(body);
        if let Some(value) = &self.authorization {
            request = request.header(AUTHORIZATION, value.clone());
        }
        let response = request.send().await.map_err(|error| fault_of_error(&error))?;
        match response.status() {
            status if status.is_success() => read(response, MAX_ANSWER_BYTES).await,
            status => Err(self.fault_of_answer(status, response).await),
        }
    }

    async fn fault_of_answer(&self, status: StatusCode, response: Response) -> Fault {
        let retry_after = asked_for(response.headers());
        let complaint = Complaint::read(&read(response, MAX_COMPLAINT_BYTES).await.unwrap_or_default());
        let passing = |code| Fault::Failed { code, retry_after, passing: true };
        match status {
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::UNPROCESSABLE_ENTITY => {
                Fault::NotUnderstood(complaint.field())
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if self.users_key => {
                Fault::lasting(FailureCode::ByokKeyRejected)
            }
            // No credit left: it says 429, and means that nobody need ask again soon.
            StatusCode::TOO_MANY_REQUESTS if complaint.is_about_credit() => {
                Fault::Failed { code: FailureCode::ModelRejected, retry_after, passing: false }
            }
            StatusCode::TOO_MANY_REQUESTS => passing(FailureCode::ModelRateLimited),
            StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT => passing(FailureCode::ModelTimeout),
            StatusCode::CONFLICT => passing(FailureCode::ModelUnavailable),
            status if status.is_server_error() => passing(FailureCode::ModelUnavailable),
            _ => Fault::lasting(FailureCode::ModelRejected),
        }
    }
}

/// Goes through the proxies that `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` name, as a
/// company's network asks of programs; but never on the way to this very machine, where no proxy helps. The rules for
/// URLs that users set do not apply: this one is the operator's.
fn client(base: &Url) -> Result<Client, BadConfig> {
    let mut builder = Client::builder();
    if is_here(base) {
        builder = builder.no_proxy();
    }
    builder
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(Policy::none())
        .referer(false)
        .user_agent(concat!("listen/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|_| BadConfig::Client)
}

fn is_here(base: &Url) -> bool {
    let host = base.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn base_of(text: &str) -> Result<Url, BadConfig> {
    let url = Url::parse(text.trim()).map_err(|_| BadConfig::BaseUrl)?;
    let bare = url.username().is_empty() && url.password().is_none();
    if matches!(url.scheme(), "http" | "https") && url.has_host() && bare {
        Ok(url)
    } else {
        Err(BadConfig::BaseUrl)
    }
}

fn bearer(key: &SecretString) -> Result<HeaderValue, BadConfig> {
    let mut value =
        HeaderValue::try_from(format!("Bearer {}", key.expose_secret())).map_err(|_| BadConfig::Key)?;
    // Keeps it out of `Debug` and out of the compression tables of HTTP/2.
    value.set_sensitive(true);
    Ok(value)
}

/// A connection that could not be made, or that broke.
fn fault_of_error(error: &reqwest::Error) -> Fault {
    let code = if error.is_timeout() { FailureCode::ModelTimeout } else { FailureCode::ModelUnavailable };
    Fault::Failed { code, retry_after: None, passing: true }
}

async fn read(mut response: Response, most: usize) -> Result<Vec<u8>, Fault> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| fault_of_error(&error))? {
        if body.len() + chunk.len() > most {
            return Err(Fault::lasting(FailureCode::ModelMalformed));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_reached_without_a_proxy() {
        for (url, expected) in [
            ("http://localhost:11434/v1", true),
            ("http://127.0.0.1/v1", true),
            ("http://[::1]:80/v1", true),
            ("https://models.example/v1", false),
            ("http://10.0.0.1/v1", false),
        ] {
            assert_eq!(base_of(url).map(|url| is_here(&url)), Ok(expected), "{url}");
        }
    }
}
