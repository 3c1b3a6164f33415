//! Live sockets (`docs/live.md`): what the pure machine of the crate `live` decides, carried out for one socket.
//!
//! [`Actor`] owns a socket, its recognizer and its timers; everything it waits for is bounded. A conversation never
//! depends on it: what is final is in the ledger, and the ledger's row says when it is to be processed.

mod actor;
mod after;
mod begin;
mod ear;
mod ending;
mod intake;
mod metrics;
mod operate;
pub(crate) mod page;
mod pictures;
mod query;
mod registry;
mod usage;
mod writer;

use std::{fmt, sync::Arc, time::Duration};

use speech::Engine;

use crate::{AudioWebhooks, NoAudioWebhooks};

pub(crate) use actor::Actor;
pub(crate) use begin::Start;
pub(crate) use metrics::LiveMetrics;
pub(crate) use query::{Asks, asks};
pub use registry::Live;
pub(crate) use registry::{Command, Seat};

/// The largest frame that is taken (`docs/live.md`).
pub(crate) const LARGEST_FRAME: usize = 64 * 1_024;

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
            live: Live::new(),
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

impl fmt::Debug for LiveSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveSettings")
            .field("sessions", &self.sessions)
            .field("engine", &self.engine.name())
            .finish_non_exhaustive()
    }
}
