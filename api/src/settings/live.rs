//! What the API must know of live sockets.

use std::{sync::Arc, time::Duration};

use speech::Engine;

use crate::{AudioWebhooks, NoAudioWebhooks, registry::Live};

/// What the API must know of live sockets.
#[derive(Clone)]
pub struct LiveSettings {
    /// The sessions of this process.
    pub live: Live,
    /// How many there may be (`LISTEN_LIVE_SESSIONS`).
    pub sessions: usize,
    /// How many one user may have.
    pub sessions_per_user: usize,
    /// How often a session's key is looked up again: a revoked one ends the session.
    pub key_checked_every: Duration,
    /// How long a client may take for one frame: one that reads nothing is closed.
    pub frame_taken_within: Duration,
    /// What recognizes speech.
    pub engine: Arc<dyn Engine>,
    /// What a minute of recognized audio costs, where the operator says so.
    pub speech_price: Option<f64>,
    /// Who takes raw audio.
    pub audio: Arc<dyn AudioWebhooks>,
    /// Whether the page to speak to is served at `/live` (`LISTEN_LIVE_PAGE`).
    pub page: bool,
    /// This process's name, by which operators find a session.
    pub process: String,
}

impl Default for LiveSettings {
    fn default() -> Self {
        let none = speech::Settings { engine: speech::Choice::None, ..speech::Settings::default() };
        let engine = none.engine(Arc::new(speech::NoMeter), [0; 32]);
        Self {
            live: Live::default(),
            sessions: 1_000,
            sessions_per_user: 3,
            key_checked_every: Duration::from_secs(45),
            frame_taken_within: Duration::from_secs(30),
            engine: engine.unwrap_or_else(|_| speech::Settings::client_engine()),
            speech_price: None,
            audio: Arc::new(NoAudioWebhooks),
            page: false,
            process: "listen".to_owned(),
        }
    }
}
