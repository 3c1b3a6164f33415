//! One exchange with a transcription server, and what its failures mean. Nothing that the server wrote leaves this
//! file but the body of a good answer.

use std::error::Error;
use std::sync::Arc;

use futures::TryStreamExt;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::multipart::{Form, Part};
use reqwest::{Method, Request, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use upstream::{Broken, Client, Learnt, asked_for, complaint, is_timeout, read_at_most};

use super::answer::Answer;
use crate::fault::Fault;
use crate::wav::wav;
use crate::{BadKey, BadSettings, Language, Reason, Settings};

const OPENAI: &str = "https://api.openai.com/v1";
/// The largest answer: 28 s of speech in every detail a server may give.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// What is asked.
pub(super) struct Question<'a> {
    pub(super) samples: &'a [i16],
    pub(super) language: &'a Language,
    pub(super) prompt: &'a str,
}

/// A transcription server and the key it is asked with.
#[derive(Clone)]
pub(super) struct Server {
    client: Client,
    url: Url,
    /// Its list of models, which costs nothing.
    models: Url,
    authorization: Option<HeaderValue>,
    own_key: bool,
    model: Arc<str>,
    /// Whether it refuses `verbose_json`: shared by all keys.
    plain: Arc<Learnt<bool>>,
}

impl Server {
    pub(super) fn new(settings: &Settings) -> Result<Self, BadSettings> {
        if settings.model.trim().is_empty() {
            return Err(BadSettings::Model);
        }
        let base = settings.base_url.as_deref().filter(|url| !url.trim().is_empty()).unwrap_or(OPENAI);
        let mut url = upstream::base_url(base, &["http", "https"]).ok_or(BadSettings::BaseUrl)?;
        let root = url.path().trim_end_matches('/').to_owned();
        let mut models = url.clone();
        models.set_path(&format!("{root}/models"));
        url.set_path(&format!("{root}/{}", settings.path.trim_start_matches('/')));
        let key = settings.api_key.as_ref().filter(|key| !key.expose_secret().is_empty());
        let authorization = key.map(|key| upstream::bearer(key).ok_or(BadSettings::Key)).transpose()?;
        let client = upstream::client(&url).ok_or(BadSettings::Client)?;
        let model = settings.model.trim().into();
        let plain = Arc::new(Learnt::new(false));
        Ok(Self { client, url, models, authorization, own_key: false, model, plain })
    }

    pub(super) fn with_own_key(&self, key: &SecretString) -> Result<Self, BadKey> {
        let authorization = Some(upstream::bearer(key).ok_or(BadKey)?);
        Ok(Self { authorization, own_key: true, ..self.clone() })
    }

    /// Asks with times where the server knows such an answer, else for the text alone.
    pub(super) async fn ask(&self, question: Question<'_>) -> Result<Answer, Fault> {
        if self.plain.known() {
            return self.once(&question, "json").await;
        }
        match self.once(&question, "verbose_json").await {
            Err(Fault { reason: Reason::Rejected, .. }) => {
                let answer = self.once(&question, "json").await?;
                self.plain.note(true);
                Ok(answer)
            }
            answered => answered,
        }
    }

    async fn once(&self, question: &Question<'_>, format: &'static str) -> Result<Answer, Fault> {
        let file = Part::bytes(wav(question.samples)).file_name("audio.wav");
        let file = file.mime_str("audio/wav").map_err(|_| Fault::lasting(Reason::Rejected))?;
        let mut form = Form::new()
            .part("file", file)
            .text("model", self.model.to_string())
            .text("response_format", format);
        if let Language::Tag(tag) = question.language {
            // Whisper's languages have no regions.
            form = form.text("language", tag.split('-').next().unwrap_or(tag).to_ascii_lowercase());
        }
        if !question.prompt.is_empty() {
            form = form.text("prompt", question.prompt.to_owned());
        }
        let request = upload(self.url.clone(), form).await.map_err(|error| fault_of_error(&error))?;
        let response = self.send(request).await?;
        match response.status() {
            status if status.is_success() => {
                let body = read(response).await?;
                Answer::read(&body).ok_or_else(Fault::malformed)
            }
            status => Err(self.fault_of_answer(status, response).await),
        }
    }

    /// Model and host.
    pub(super) fn id(&self) -> String {
        format!("openai:{}@{}", self.model, upstream::host(&self.url))
    }

    /// Whether the server answers and takes the key. One without a list of models is there, too, and says nothing of the key:
    /// its status is returned.
    pub(super) async fn is_there(&self) -> Result<Option<u16>, Fault> {
        let response = self.send(Request::new(Method::GET, self.models.clone())).await?;
        match response.status() {
            status if status.is_success() => Ok(None),
            status => match self.fault_of_answer(status, response).await {
                Fault { reason: Reason::Rejected, http_status, .. } => Ok(http_status),
                fault => Err(fault),
            },
        }
    }

    async fn send(&self, mut request: Request) -> Result<Response, Fault> {
        if let Some(value) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, value.clone());
        }
        self.client.send(request).await.map_err(|error| fault_of_error(&*error))
    }

    async fn fault_of_answer(&self, status: StatusCode, response: Response) -> Fault {
        Fault { http_status: Some(status.as_u16()), ..self.fault_of_status(status, response).await }
    }

    async fn fault_of_status(&self, status: StatusCode, response: Response) -> Fault {
        let retry_after = asked_for(response.headers());
        let refused = if self.own_key { Reason::OwnKeyRejected } else { Reason::KeyRejected };
        let passing = |reason| Fault { retry_after, ..Fault::passing(reason) };
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::PAYMENT_REQUIRED | StatusCode::FORBIDDEN => {
                Fault::lasting(refused)
            }
            StatusCode::TOO_MANY_REQUESTS if is_about_credit(response).await => Fault::lasting(refused),
            StatusCode::TOO_MANY_REQUESTS => passing(Reason::RateLimited),
            StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT => passing(Reason::Timeout),
            StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::CONFLICT => {
                passing(Reason::Unavailable)
            }
            status if status.is_server_error() => Fault { stumbled: true, ..passing(Reason::Unavailable) },
            _ => Fault::lasting(Reason::Rejected),
        }
    }
}

/// No credit left: it says 429, and means that asking again does not help.
async fn is_about_credit(response: Response) -> bool {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Complaint {
        error: Details,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Details {
        code: Option<serde_json::Value>,
    }
    let complaint: Complaint = serde_json::from_slice(&complaint(response).await).unwrap_or_default();
    let code = complaint.error.code.as_ref().and_then(serde_json::Value::as_str);
    matches!(code, Some("insufficient_quota" | "billing_hard_limit_reached"))
}

/// Posts `form` in one piece: there are servers that take no body whose length comes last.
async fn upload(url: Url, form: Form) -> reqwest::Result<Request> {
    let mut request = Request::new(Method::POST, url);
    let kind = format!("multipart/form-data; boundary={}", form.boundary());
    request.headers_mut().extend(HeaderValue::try_from(kind).ok().map(|kind| (CONTENT_TYPE, kind)));
    let pieces: Vec<_> = form.into_stream().try_collect().await?;
    *request.body_mut() = Some(pieces.concat().into());
    Ok(request)
}

fn fault_of_error(error: &(dyn Error + 'static)) -> Fault {
    Fault::passing(if is_timeout(error) { Reason::Timeout } else { Reason::Unavailable })
}

async fn read(response: Response) -> Result<Vec<u8>, Fault> {
    read_at_most(response, MAX_ANSWER_BYTES).await.map_err(|broken| match broken {
        Broken::TooLong => Fault::malformed(),
        Broken::Connection(error) => fault_of_error(&error),
    })
}
