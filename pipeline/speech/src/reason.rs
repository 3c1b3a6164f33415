//! Why words are missing.

/// Why a session is not recognized. A closed list: provider text is dropped where these are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// No engine is configured.
    NoSpeechEngine,
    /// The engine refuses the service's key, or its account has no credit.
    KeyRejected,
    /// The engine refuses the user's own key.
    OwnKeyRejected,
    /// The engine asks to be left alone for a while.
    RateLimited,
    /// The engine did not answer in time.
    Timeout,
    /// The engine cannot be reached, or is broken.
    Unavailable,
    /// The engine refuses the request.
    Rejected,
    /// The engine's answer cannot be read.
    Malformed,
    /// More audio waited than is kept.
    Overloaded,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::NoSpeechEngine,
        Self::KeyRejected,
        Self::OwnKeyRejected,
        Self::RateLimited,
        Self::Timeout,
        Self::Unavailable,
        Self::Rejected,
        Self::Malformed,
        Self::Overloaded,
    ];

    /// As frames and metric labels have it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoSpeechEngine => "no_speech_engine",
            Self::KeyRejected => "key_rejected",
            Self::OwnKeyRejected => "own_key_rejected",
            Self::RateLimited => "rate_limited",
            Self::Timeout => "timeout",
            Self::Unavailable => "unavailable",
            Self::Rejected => "rejected",
            Self::Malformed => "malformed",
            Self::Overloaded => "overloaded",
        }
    }

    /// Whether the same audio may be recognized later.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::RateLimited | Self::Timeout | Self::Unavailable | Self::Malformed)
    }
}
