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

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The largest answer: an embedding of some thousand numbers, or a long text, with room to spare.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// Why an exchange gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// 400, 404 or 422: the server may merely not know a field of the request.
    NotUnderstood,
    /// Anything else.
    Final(FailureCode),
}

impl From<Failure> for FailureCode {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NotUnderstood => Self::ModelRejected,
            Failure::Final(code) => code,
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
        let client = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(Policy::none())
            .no_proxy()
            .referer(false)
            .user_agent(concat!("listen/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|_| BadConfig::Client)?;
        let authorization = key.map(bearer).transpose()?;
        Ok(Self { client, base: base_of(base_url)?, authorization, users_key: false })
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
    pub(super) async fn post(&self, path: &str, body: &impl Serialize) -> Result<Vec<u8>, Failure> {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        let mut request = self.client.post(url).json(body);
        if let Some(value) = &self.authorization {
            request = request.header(AUTHORIZATION, value.clone());
        }
        let response = request.send().await.map_err(|error| Failure::Final(code_of_error(&error)))?;
        match response.status() {
            status if status.is_success() => read(response).await.map_err(Failure::Final),
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::UNPROCESSABLE_ENTITY => {
                Err(Failure::NotUnderstood)
            }
            status => Err(Failure::Final(self.code_of_status(status))),
        }
    }

    fn code_of_status(&self, status: StatusCode) -> FailureCode {
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if self.users_key => {
                FailureCode::ByokKeyRejected
            }
            StatusCode::TOO_MANY_REQUESTS => FailureCode::ModelRateLimited,
            StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT => FailureCode::ModelTimeout,
            StatusCode::CONFLICT => FailureCode::ModelUnavailable,
            status if status.is_server_error() => FailureCode::ModelUnavailable,
            _ => FailureCode::ModelRejected,
        }
    }
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

fn code_of_error(error: &reqwest::Error) -> FailureCode {
    if error.is_timeout() { FailureCode::ModelTimeout } else { FailureCode::ModelUnavailable }
}

async fn read(mut response: Response) -> Result<Vec<u8>, FailureCode> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| code_of_error(&error))? {
        if body.len() + chunk.len() > MAX_ANSWER_BYTES {
            return Err(FailureCode::ModelMalformed);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
