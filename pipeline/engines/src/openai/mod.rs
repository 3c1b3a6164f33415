//! Any server that speaks the OpenAI API: structured answers by JSON schema, and embeddings.
//!
//! An answer is never trusted. The only way out of a model is a closed shape ([`answers`]), every date is
//! resolved here ([`when`]), every draft passes the checks of `stages`, and no tool is ever offered to who reads a talk: only the assistant has
//! tools, and only those that its turn checks ([`assistant`]).

mod abilities;
mod answers;
mod assistant;
mod bill;
mod chat;
mod complaint;
mod line;
mod manner;
mod merge;
mod prompt;
mod schema;
mod server;
mod sight;
mod when;
mod window;

use std::sync::Arc;

use secrecy::SecretString;
use upstream::Patience;

use crate::DayOrder;

use line::Line;
use manner::Manners;
use prompt::Marks;
use server::Server;
use window::Window;

/// Who counts what is asked of a model server. Called from the calls themselves: must return at once.
pub trait Meter: Send + Sync {
    /// The server counted `tokens` of `kind` (`prompt`; `cached`, a part of it; `completion`) for `stage`.
    /// Also for answers that were then refused: they were paid for.
    fn tokens(&self, stage: &'static str, kind: &'static str, tokens: u64);

    /// A call for `stage` ended: `answered`, `not_understood`, a failure code, or `circuit_open` for one
    /// that was not made.
    fn called(&self, stage: &'static str, outcome: &'static str) {
        let _ = (stage, outcome);
    }

    /// After a call, and when the circuit's time is over: whether the server is left alone now.
    fn circuit(&self, is_open: bool) {
        let _ = is_open;
    }
}

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
    /// How long it is waited for.
    pub patience: Patience,
    /// The context of the model that reads talks, question and answer together; a longer talk is read in
    /// parts.
    pub context_tokens: u32,
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
    embed_id: Arc<str>,
    window: Arc<Window>,
    line: Line,
    /// The line to the model that sees: what becomes of its calls says nothing of the model that reads.
    sight_line: Line,
    manners: Arc<Manners>,
    ways: Arc<assistant::Ways>,
    marks: Marks,
    follows_prompts: bool,
    /// How the rules that choose tools for a server without them read dates.
    order: DayOrder,
    /// The model that sees, and the id under which its descriptions are kept.
    sight: Option<(Arc<str>, Arc<str>)>,
}

impl OpenAi {
    /// An engine for `config`'s server. `chance` makes the marks around a talk unguessable, and waits
    /// uneven; the caller draws it once per process.
    pub fn new(config: OpenAiConfig, meter: Arc<dyn Meter>, chance: [u8; 32]) -> Result<Self, BadConfig> {
        if config.model.trim().is_empty() {
            return Err(BadConfig::Model);
        }
        let server = Server::new(&config.base_url, config.api_key.as_ref())?;
        let (patience, seed) = (config.patience, prompt::seed(chance));
        Ok(Self {
            id: format!("openai:{}@{}/{}", config.model, server.host(), prompt::VERSION).into(),
            embed_id: format!("openai:{}@{}", config.embed_model, server.host()).into(),
            window: Arc::new(Window::new(config.context_tokens)),
            model: config.model.into(),
            embed_model: config.embed_model.into(),
            sight_line: Line::beside(server.clone(), patience, Arc::clone(&meter), seed),
            line: Line::new(server, patience, meter, seed),
            manners: Arc::default(),
            ways: Arc::default(),
            marks: Marks::new(chance),
            follows_prompts: true,
            order: DayOrder::default(),
            sight: None,
        })
    }

    /// The same engine, which does or does not do what prompts of apps ask for.
    #[must_use]
    pub fn following_prompts(self, follows_prompts: bool) -> Self {
        Self { follows_prompts, ..self }
    }

    /// The same engine, which reads `3/4` in messages to the assistant in that order, where the model takes no tools.
    #[must_use]
    pub fn with_day_order(self, order: DayOrder) -> Self {
        Self { order, ..self }
    }

    /// The same engine, which describes pictures by `model` of the same server, or none.
    #[must_use]
    pub fn seeing_with(self, model: Option<&str>) -> Self {
        let id = |model| format!("openai:{model}@{}/{}", self.line.server().host(), prompt::VERSION);
        Self { sight: model.map(|model| (model.into(), id(model).into())), ..self }
    }

    /// The same engine with a user's own key, for that user's runs only. Should the server refuse the key,
    /// the code is `byok_key_rejected`; the service's own key is never tried instead.
    pub fn with_users_key(&self, key: &SecretString) -> Result<Self, BadConfig> {
        let server = self.line.server().with_users_key(key)?;
        let sight_line = self.sight_line.with_server(server.clone());
        Ok(Self { line: self.line.with_server(server), sight_line, ..self.clone() })
    }
}
