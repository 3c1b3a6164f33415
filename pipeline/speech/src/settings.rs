//! Which engine, and where it is. Plain values; the binary reads them from `LISTEN_SPEECH_…` and
//! `LISTEN_DEEPGRAM_…`.

use secrecy::{ExposeSecret, SecretString};

/// `LISTEN_SPEECH_ENGINE`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// `auto`: Deepgram where its key is set, else OpenAI-compatible where a base URL is set, else none.
    #[default]
    Auto,
    /// `openai`: any server with `/audio/transcriptions`.
    OpenAi,
    /// `deepgram`: Deepgram's live socket.
    Deepgram,
    /// `none`: only client transcripts.
    None,
}

/// Which engine, and where it is.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `LISTEN_SPEECH_ENGINE` (auto).
    pub engine: Choice,
    /// `LISTEN_SPEECH_BASE_URL`: of an OpenAI-compatible server, such as `http://127.0.0.1:8000/v1`. With `openai` and
    /// none: OpenAI's own.
    pub base_url: Option<String>,
    /// `LISTEN_SPEECH_API_KEY`.
    pub api_key: Option<SecretString>,
    /// `LISTEN_SPEECH_MODEL` (gpt-transcribe).
    pub model: String,
    /// `LISTEN_SPEECH_PATH` (/audio/transcriptions), below the base URL.
    pub path: String,
    /// `LISTEN_SPEECH_CONCURRENCY` (16): requests at a time per process, over all sessions.
    pub concurrency: usize,
    /// `LISTEN_DEEPGRAM_API_KEY`.
    pub deepgram_api_key: Option<SecretString>,
    /// `LISTEN_DEEPGRAM_BASE_URL` (`wss://api.deepgram.com`).
    pub deepgram_base_url: String,
    /// `LISTEN_DEEPGRAM_MODEL` (nova-3).
    pub deepgram_model: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            engine: Choice::Auto,
            base_url: None,
            api_key: None,
            model: "gpt-transcribe".to_owned(),
            path: "/audio/transcriptions".to_owned(),
            concurrency: 16,
            deepgram_api_key: None,
            deepgram_base_url: "wss://api.deepgram.com".to_owned(),
            deepgram_model: "nova-3".to_owned(),
        }
    }
}

/// The settings cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSettings {
    /// No `http` or `https` URL with a host, or one with a user name or password.
    #[error("LISTEN_SPEECH_BASE_URL is not an http or https URL")]
    BaseUrl,
    /// The key cannot be sent in a header.
    #[error("LISTEN_SPEECH_API_KEY cannot be sent in a header")]
    Key,
    /// No model is named.
    #[error("LISTEN_SPEECH_MODEL is empty")]
    Model,
    /// Nothing could be sent.
    #[error("LISTEN_SPEECH_CONCURRENCY must be at least 1")]
    Concurrency,
    /// `deepgram` without a key.
    #[error("LISTEN_SPEECH_ENGINE=deepgram needs LISTEN_DEEPGRAM_API_KEY")]
    DeepgramKeyMissing,
    /// The key cannot be sent in a header.
    #[error("LISTEN_DEEPGRAM_API_KEY cannot be sent in a header")]
    DeepgramKey,
    /// No `ws` or `wss` URL with a host.
    #[error("LISTEN_DEEPGRAM_BASE_URL is not a ws or wss URL")]
    DeepgramBaseUrl,
    /// No model is named.
    #[error("LISTEN_DEEPGRAM_MODEL is empty")]
    DeepgramModel,
    /// The process has no TLS provider or no root certificates.
    #[error("no HTTP client could be built")]
    Client,
}

impl Settings {
    /// The engine that `auto` stands for.
    #[must_use]
    pub fn choice(&self) -> Choice {
        let has_key =
            |key: &Option<SecretString>| key.as_ref().is_some_and(|key| !key.expose_secret().is_empty());
        match self.engine {
            Choice::Auto if has_key(&self.deepgram_api_key) => Choice::Deepgram,
            Choice::Auto if self.base_url.as_ref().is_some_and(|url| !url.trim().is_empty()) => {
                Choice::OpenAi
            }
            Choice::Auto => Choice::None,
            chosen => chosen,
        }
    }
}
