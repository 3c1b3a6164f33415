//! Opening the engine's socket.

use std::sync::Arc;

use reqwest::Url;
use rustls::{ClientConfig, RootCertStore};
use secrecy::{ExposeSecret, SecretString};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::header::{AUTHORIZATION, HeaderValue};
use tokio_tungstenite::tungstenite::http::{Response, StatusCode};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config};
use upstream::asked_for;

use crate::fault::Fault;
use crate::openai::cleaned;
use crate::{BadSettings, Language, RATE, Reason, Session, Settings};

/// A result is a few kilobytes.
const MAX_MESSAGE_BYTES: usize = 1024 * 1024;
/// A session's buffers: a result, or a quarter of a second.
const BUFFER_BYTES: usize = 8 * 1024;
/// What it has not read yet: a second of audio, and answers to its pings.
const MOST_UNSENT: usize = 256 * 1024;
/// The engine's own limit for key terms.
const MOST_TERMS: usize = 100;
const LONGEST_TERM: usize = 100;
/// Silence after which the engine ends an utterance; shorter than the pause after which audio is not sent.
const ENDPOINTING: &str = "300";

pub(super) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// The engine's address and key.
#[derive(Clone)]
pub(super) struct Address {
    base: Url,
    authorization: HeaderValue,
    model: String,
    connector: Connector,
}

impl Address {
    pub(super) fn new(settings: &Settings) -> Result<Self, BadSettings> {
        let key = settings.deepgram_api_key.as_ref().filter(|key| !key.expose_secret().is_empty());
        let key: &SecretString = key.ok_or(BadSettings::DeepgramKeyMissing)?;
        let mut authorization = HeaderValue::try_from(format!("Token {}", key.expose_secret()))
            .map_err(|_| BadSettings::DeepgramKey)?;
        authorization.set_sensitive(true);
        let base = upstream::base_url(&settings.deepgram_base_url, &["ws", "wss"]);
        let base = base.ok_or(BadSettings::DeepgramBaseUrl)?;
        let model = settings.deepgram_model.trim().to_owned();
        if model.is_empty() {
            return Err(BadSettings::DeepgramModel);
        }
        let connector = connector(&base).ok_or(BadSettings::Client)?;
        Ok(Self { base, authorization, model, connector })
    }

    /// The address of one session, its wishes included.
    pub(super) fn of(&self, session: &Session) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/v1/listen", self.base.path().trim_end_matches('/')));
        let language = match &session.language {
            Language::Any => "multi",
            Language::Tag(tag) => tag,
        };
        let rate = RATE.to_string();
        let channels = session.channels.to_string();
        let mut query = url.query_pairs_mut();
        query.extend_pairs([
            ("model", self.model.as_str()),
            ("language", language),
            ("encoding", "linear16"),
            ("sample_rate", &rate),
            ("channels", &channels),
            ("interim_results", "true"),
            ("punctuate", "true"),
            ("smart_format", "true"),
            ("endpointing", ENDPOINTING),
        ]);
        if session.channels > 1 {
            query.append_pair("multichannel", "true");
        } else {
            query.append_pair("diarize", "true");
        }
        // Older models have another name for it.
        let name = if self.model.starts_with("nova-3") { "keyterm" } else { "keywords" };
        let terms = session.vocabulary.iter().map(|term| cleaned(term));
        for term in terms.filter(|term| !term.is_empty() && term.len() <= LONGEST_TERM).take(MOST_TERMS) {
            query.append_pair(name, &term);
        }
        drop(query);
        url
    }

    /// Model and host.
    pub(super) fn id(&self) -> String {
        format!("deepgram:{}@{}", self.model, upstream::host(&self.base))
    }

    /// Whether a socket opens: no audio is sent, and none is billed.
    pub(super) async fn is_there(&self) -> Result<Option<u16>, Fault> {
        let session = Session { language: Language::Any, channels: 1, vocabulary: Vec::new(), own_key: None };
        let mut socket = self.connect(&self.of(&session)).await?;
        // It was there, however it ends.
        let _ = socket.close(None).await;
        Ok(None)
    }

    pub(super) async fn connect(&self, url: &Url) -> Result<Socket, Fault> {
        let mut request = url.as_str().into_client_request().map_err(|_| Fault::lasting(Reason::Rejected))?;
        request.headers_mut().insert(AUTHORIZATION, self.authorization.clone());
        let limits = WebSocketConfig::default()
            .read_buffer_size(BUFFER_BYTES)
            .write_buffer_size(BUFFER_BYTES)
            .max_write_buffer_size(MOST_UNSENT)
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        let connector = Some(self.connector.clone());
        match connect_async_tls_with_config(request, Some(limits), true, connector).await {
            Ok((socket, _)) => Ok(socket),
            Err(Error::Http(response)) => Err(fault_of_answer(&response)),
            Err(Error::Url(_)) => Err(Fault::lasting(Reason::Rejected)),
            Err(_) => Err(Fault::lasting(Reason::Unavailable)),
        }
    }
}

/// Made once: reading the system's certificates for every connection would cost more than the connection.
fn connector(base: &Url) -> Option<Connector> {
    if base.scheme() == "ws" {
        return Some(Connector::Plain);
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return None;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().ok()?;
    Some(Connector::Rustls(Arc::new(config.with_root_certificates(roots).with_no_client_auth())))
}

fn fault_of_answer<T>(response: &Response<T>) -> Fault {
    let reason = match response.status() {
        StatusCode::UNAUTHORIZED | StatusCode::PAYMENT_REQUIRED | StatusCode::FORBIDDEN => {
            Reason::KeyRejected
        }
        StatusCode::TOO_MANY_REQUESTS => Reason::RateLimited,
        StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT => Reason::Timeout,
        status if status.is_client_error() => Reason::Rejected,
        _ => Reason::Unavailable,
    };
    let (retry_after, http_status) = (asked_for(response.headers()), Some(response.status().as_u16()));
    Fault { retry_after, http_status, ..Fault::lasting(reason) }
}
