//! Live sockets and what recognizes their speech.

use clap::{Args, ValueEnum};
use secrecy::SecretString;
use speech::{Choice, Settings};

/// What recognizes speech.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SpeechEngine {
    /// Deepgram where its key is set, a server with the OpenAI API where LISTEN_SPEECH_BASE_URL is set, else none.
    Auto,
    /// Any server with /audio/transcriptions.
    Openai,
    /// Deepgram's live socket.
    Deepgram,
    /// Nothing: clients may send transcripts of their own.
    None,
}

/// Whether something is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    #[value(alias = "true")]
    On,
    #[value(alias = "false")]
    Off,
}

/// What can be set about live sockets.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Live audio")]
pub(crate) struct LiveConfig {
    /// Concurrent live sockets in one process.
    #[arg(long, env = "LISTEN_LIVE_SESSIONS", default_value_t = 1_000, value_name = "N")]
    pub(crate) live_sessions: usize,
    /// Serve the pages to speak and to chat with, /live and /live/chat; `dev` always does.
    #[arg(long, env = "LISTEN_LIVE_PAGE", default_value = "off", value_name = "SWITCH")]
    pub(crate) live_page: Switch,
    /// Speech engine; `auto` is Deepgram if its key is set, else the server below if its URL is set, else none.
    #[arg(long, env = "LISTEN_SPEECH_ENGINE", default_value = "auto", value_name = "ENGINE")]
    speech_engine: SpeechEngine,
    /// OpenAI-compatible server for audio, such as http://127.0.0.1:8000/v1; `openai` without it is OpenAI itself.
    #[arg(long, env = "LISTEN_SPEECH_BASE_URL", value_name = "URL")]
    speech_base_url: Option<String>,
    /// Key for that server.
    #[arg(long, env = "LISTEN_SPEECH_API_KEY", hide_env_values = true, value_name = "KEY")]
    speech_api_key: Option<String>,
    /// Its model.
    #[arg(long, env = "LISTEN_SPEECH_MODEL", default_value = "gpt-transcribe", value_name = "MODEL")]
    speech_model: String,
    /// Path of its transcriptions.
    #[arg(long, env = "LISTEN_SPEECH_PATH", default_value = "/audio/transcriptions", value_name = "PATH")]
    speech_path: String,
    /// Concurrent requests to that server.
    #[arg(long, env = "LISTEN_SPEECH_CONCURRENCY", default_value_t = 16, value_name = "N")]
    pub(crate) speech_concurrency: usize,
    /// What a minute of recognized audio costs: `listen jobs show` then shows what was paid [per minute].
    #[arg(long, env = "LISTEN_SPEECH_PRICE", value_name = "AMOUNT")]
    pub(crate) speech_price: Option<f64>,
    /// Deepgram key.
    #[arg(long, env = "LISTEN_DEEPGRAM_API_KEY", hide_env_values = true, value_name = "KEY")]
    deepgram_api_key: Option<String>,
    /// Deepgram address.
    #[arg(
        long,
        env = "LISTEN_DEEPGRAM_BASE_URL",
        default_value = "wss://api.deepgram.com",
        value_name = "URL"
    )]
    deepgram_base_url: String,
    /// Deepgram model.
    #[arg(long, env = "LISTEN_DEEPGRAM_MODEL", default_value = "nova-3", value_name = "MODEL")]
    deepgram_model: String,
}

impl LiveConfig {
    /// What recognizes speech, as the crate that does it wants to know.
    pub(crate) fn speech(&self) -> Settings {
        let secret = |key: &Option<String>| key.clone().map(SecretString::from);
        Settings {
            engine: match self.speech_engine {
                SpeechEngine::Auto => Choice::Auto,
                SpeechEngine::Openai => Choice::OpenAi,
                SpeechEngine::Deepgram => Choice::Deepgram,
                SpeechEngine::None => Choice::None,
            },
            base_url: self.speech_base_url.clone(),
            api_key: secret(&self.speech_api_key),
            model: self.speech_model.clone(),
            path: self.speech_path.clone(),
            concurrency: self.speech_concurrency,
            deepgram_api_key: secret(&self.deepgram_api_key),
            deepgram_base_url: self.deepgram_base_url.clone(),
            deepgram_model: self.deepgram_model.clone(),
        }
    }

    /// What recognizes speech, where it may be chosen automatically.
    pub(super) fn chosen(&self) -> &'static str {
        match self.speech().choice() {
            Choice::OpenAi => "openai",
            Choice::Deepgram => "deepgram",
            Choice::None | Choice::Auto => "none",
        }
    }
}
