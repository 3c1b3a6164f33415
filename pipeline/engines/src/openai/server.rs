//! One HTTP exchange with a model server, and what its failures mean. Nothing that the server wrote
//! leaves this file but the body of a good answer.

use std::error::Error;
use std::time::Duration;

use job::{ErrorClass, FailureCode};
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Method, Request, Response, StatusCode, Url};
use secrecy::SecretString;
use serde::Serialize;
use serde::de::IgnoredAny;
use upstream::{BoxError, Broken, Client, asked_for, complaint, is_timeout, json, read_at_most};

use super::BadConfig;
use super::complaint::{Complaint, Field};

/// The largest answer: an embedding of some thousand numbers, or a long text, with room to spare.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// Why an exchange gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// 400, 404 or 422: the server may merely not know a field of the request, perhaps this one.
    NotUnderstood(Option<Field>, u16),
    /// Anything else.
    Failed {
        /// Why.
        code: FailureCode,
        /// How long the server asked to be left alone.
        retry_after: Option<Duration>,
        /// Whether the same request may be answered a moment later.
        passing: bool,
        /// What the answer was.
        class: ErrorClass,
        /// Its status, where there was an answer.
        http_status: Option<u16>,
    },
}

impl Fault {
    /// Without an answer that could name a status or a wait.
    fn unanswered(code: FailureCode, class: ErrorClass, passing: bool) -> Self {
        Self::Failed { code, retry_after: None, passing, class, http_status: None }
    }
}

impl upstream::Fault for Fault {
    fn silent() -> Self {
        Self::unanswered(FailureCode::ModelTimeout, ErrorClass::Timeout, false)
    }

    fn outcome(&self) -> &'static str {
        match self {
            Self::NotUnderstood(..) => "not_understood",
            Self::Failed { code, .. } => code.as_str(),
        }
    }

    fn is_unavailability(&self) -> bool {
        let Self::Failed { code, .. } = self else { return false };
        matches!(code, FailureCode::ModelUnavailable | FailureCode::ModelTimeout)
    }

    fn is_passing(&self) -> bool {
        matches!(self, Self::Failed { passing: true, .. })
    }

    fn retry_after(&self) -> Option<Duration> {
        let Self::Failed { retry_after, .. } = self else { return None };
        *retry_after
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
        let base = upstream::base_url(base_url, &["http", "https"]).ok_or(BadConfig::BaseUrl)?;
        let authorization = key.map(bearer).transpose()?;
        let client = upstream::client(&base).ok_or(BadConfig::Client)?;
        Ok(Self { client, base, authorization, users_key: false })
    }

    pub(super) fn with_users_key(&self, key: &SecretString) -> Result<Self, BadConfig> {
        Ok(Self { authorization: Some(bearer(key)?), users_key: true, ..self.clone() })
    }

    /// The host and, when it is not the scheme's own, the port.
    pub(super) fn host(&self) -> String {
        upstream::host(&self.base)
    }

    /// Posts `body` to `path` below the base URL and returns the body of a 2xx answer, which is JSON: a page of a proxy, or of
    /// another server at that address, is no answer.
    pub(super) async fn post(&self, path: &str, body: &impl Serialize) -> Result<Vec<u8>, Fault> {
        let answer = read(self.open(path, body).await?).await?;
        match serde_json::from_slice::<IgnoredAny>(&answer) {
            Ok(_) => Ok(answer),
            Err(_) => Err(Fault::unanswered(FailureCode::ModelMalformed, ErrorClass::Malformed, false)),
        }
    }

    /// The same, with the body still to come.
    pub(super) async fn open(&self, path: &str, body: &impl Serialize) -> Result<Response, Fault> {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        let request = json(Request::new(Method::POST, url), body).map_err(|error| fault_of_error(&error))?;
        let response = self.send(request).await.map_err(|error| fault_of_error(&*error))?;
        match response.status() {
            status if status.is_success() => Ok(response),
            status => Err(self.fault_of_answer(status, response).await),
        }
    }

    /// Asks for the list of models, which costs nothing: whether the server answers, and takes the key. A server without such
    /// a list is there, too, and says nothing of the key: its status is returned.
    pub(super) async fn is_there(&self) -> Result<Option<u16>, (ErrorClass, Option<u16>)> {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/models", self.base.path().trim_end_matches('/')));
        let sent = self.send(Request::new(Method::GET, url)).await;
        let mut response = sent.map_err(|error| (unanswered(&*error).1, None))?;
        let status = response.status();
        if status.is_success() {
            // A list may be long: its beginning tells it from a page.
            let beginning = response.chunk().await.ok().flatten().unwrap_or_default();
            return match beginning.trim_ascii_start().first() {
                Some(b'{' | b'[') => Ok(None),
                _ => Err((ErrorClass::Malformed, None)),
            };
        }
        match self.fault_of_answer(status, response).await {
            Fault::NotUnderstood(..) => Ok(Some(status.as_u16())),
            Fault::Failed { .. } if status == StatusCode::METHOD_NOT_ALLOWED => Ok(Some(status.as_u16())),
            Fault::Failed { class, http_status, .. } => Err((class, http_status)),
        }
    }

    async fn send(&self, mut request: Request) -> Result<Response, BoxError> {
        if let Some(value) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, value.clone());
        }
        self.client.send(request).await
    }

    async fn fault_of_answer(&self, status: StatusCode, response: Response) -> Fault {
        let retry_after = asked_for(response.headers());
        let complaint = Complaint::read(&complaint(response).await);
        let http_status = Some(status.as_u16());
        let fault = |code, class, passing| Fault::Failed { code, retry_after, passing, class, http_status };
        match status {
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::UNPROCESSABLE_ENTITY => {
                Fault::NotUnderstood(complaint.field(), status.as_u16())
            }
            StatusCode::UNAUTHORIZED if self.users_key => {
                fault(FailureCode::ByokKeyRejected, ErrorClass::KeyRejected, false)
            }
            StatusCode::FORBIDDEN if self.users_key => {
                fault(FailureCode::ByokKeyRejected, ErrorClass::Forbidden, false)
            }
            StatusCode::UNAUTHORIZED => fault(FailureCode::ModelRejected, ErrorClass::KeyRejected, false),
            StatusCode::FORBIDDEN => fault(FailureCode::ModelRejected, ErrorClass::Forbidden, false),
            // No credit left: it says 429, and there is no point in asking again soon.
            StatusCode::TOO_MANY_REQUESTS if complaint.is_about_credit() => {
                fault(FailureCode::ModelRejected, ErrorClass::QuotaExhausted, false)
            }
            StatusCode::PAYMENT_REQUIRED => {
                fault(FailureCode::ModelRejected, ErrorClass::QuotaExhausted, false)
            }
            StatusCode::PAYLOAD_TOO_LARGE => fault(FailureCode::ModelRejected, ErrorClass::TooLong, false),
            StatusCode::TOO_MANY_REQUESTS => {
                fault(FailureCode::ModelRateLimited, ErrorClass::RateLimited, true)
            }
            StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT => {
                fault(FailureCode::ModelTimeout, ErrorClass::Timeout, true)
            }
            StatusCode::CONFLICT => fault(FailureCode::ModelUnavailable, ErrorClass::ServerError, true),
            status if status.is_server_error() => {
                fault(FailureCode::ModelUnavailable, ErrorClass::ServerError, true)
            }
            _ => fault(FailureCode::ModelRejected, ErrorClass::BadRequest, false),
        }
    }
}

fn bearer(key: &SecretString) -> Result<HeaderValue, BadConfig> {
    upstream::bearer(key).ok_or(BadConfig::Key)
}

/// A connection that could not be made, or that broke.
fn fault_of_error(error: &(dyn Error + 'static)) -> Fault {
    let (code, class) = unanswered(error);
    Fault::unanswered(code, class, true)
}

fn unanswered(error: &(dyn Error + 'static)) -> (FailureCode, ErrorClass) {
    match error {
        error if is_timeout(error) => (FailureCode::ModelTimeout, ErrorClass::Timeout),
        error if upstream::is_of_tls(error) => (FailureCode::ModelUnavailable, ErrorClass::Certificate),
        _ => (FailureCode::ModelUnavailable, ErrorClass::Unreachable),
    }
}

async fn read(response: Response) -> Result<Vec<u8>, Fault> {
    read_at_most(response, MAX_ANSWER_BYTES).await.map_err(|broken| match broken {
        Broken::TooLong => Fault::unanswered(FailureCode::ModelMalformed, ErrorClass::Malformed, false),
        Broken::Connection(error) => fault_of_error(&error),
    })
}
