//! Any server that speaks the OpenAI API: structured answers by JSON schema, and embeddings.
//!
//! An answer is never trusted. The only way out of a model is a closed shape ([`answers`]), every text in
//! it is cleaned ([`clean`]), every date is resolved here ([`when`]), and no tool is ever offered.

mod abilities;
mod answers;
mod chat;
mod clean;
mod prompt;
mod schema;
mod server;
mod when;

use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

use chat::Rungs;
use prompt::Marks;
use server::Server;

/// Told of every count of tokens that a server reports: stage, kind (`prompt`, `cached`, a part of it, or
/// `completion`) and how many. Also of answers that were then refused: they were paid for.
pub type Usage = Arc<dyn Fn(&'static str, &'static str, u64) + Send + Sync>;

/// Which server, which models.
#[derive(Clone, Debug)]
pub struct OpenAiConfig {
    /// The address that `/chat/completions` is appended to, for example `https://api.openai.com/v1`.
    /// The operator's own: not guarded as users' URLs are.
    pub base_url: String,
    /// Sent as a bearer token.
    pub api_key: Option<SecretString>,
    /// The model that reads talks.
    pub model: String,
    /// The model that embeds.
    pub embed_model: String,
    /// The most that one ability may take, all its tries included.
    pub timeout: Duration,
}

/// The configuration cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadConfig {
    /// No `http` or `https` URL with a host, or one with a user name or password.
    #[error("the base URL of the model server is not valid")]
    BaseUrl,
    /// The key cannot be sent in a header.
    #[error("the key of the model server is not valid")]
    Key,
    /// No model was named.
    #[error("no model is named")]
    Model,
    /// The process has no TLS provider or no root certificates.
    #[error("no HTTP client could be built")]
    Client,
}

/// A language model behind an OpenAI-compatible server. Cheap to clone; clones share connections and what
/// was learnt about the server.
#[derive(Clone)]
pub struct OpenAi {
    id: Arc<str>,
    model: Arc<str>,
    embed_model: Arc<str>,
    timeout: Duration,
    server: Server,
    rungs: Arc<Rungs>,
    marks: Marks,
    usage: Usage,
}

impl OpenAi {
    /// An engine for `config`'s server. `chance` makes the marks around a talk unguessable; the caller
    /// draws it once per process.
    pub fn new(config: OpenAiConfig, usage: Usage, chance: [u8; 32]) -> Result<Self, BadConfig> {
        if config.model.trim().is_empty() {
            return Err(BadConfig::Model);
        }
        let server = Server::new(&config.base_url, config.api_key.as_ref())?;
        Ok(Self {
            id: format!("openai:{}@{}/{}", config.model, server.host(), prompt::VERSION).into(),
            model: config.model.into(),
            embed_model: config.embed_model.into(),
            timeout: config.timeout,
            server,
            rungs: Arc::default(),
            marks: Marks::new(chance),
            usage,
        })
    }

    /// The same engine with a user's own key, for that user's runs only. Should the server refuse the key,
    /// the code is `byok_key_rejected`; the service's own key is never tried instead.
    pub fn with_users_key(&self, key: &SecretString) -> Result<Self, BadConfig> {
        Ok(Self { server: self.server.with_users_key(key)?, ..self.clone() })
    }
}
