//! Why words are missing.

names::named! {
    /// Why a session is not recognized. A closed list: provider text is dropped where these are made.
    Reason {
        /// No engine is configured.
        NoSpeechEngine = "no_speech_engine",
        /// The engine refuses the service's key, or its account has no credit.
        KeyRejected = "key_rejected",
        /// The engine refuses the user's own key.
        OwnKeyRejected = "own_key_rejected",
        /// The engine asks to be left alone for a while.
        RateLimited = "rate_limited",
        /// The engine did not answer in time.
        Timeout = "timeout",
        /// The engine cannot be reached, or is broken.
        Unavailable = "unavailable",
        /// The engine refuses the request.
        Rejected = "rejected",
        /// The engine's answer cannot be read.
        Malformed = "malformed",
        /// More audio waited than is kept.
        Overloaded = "overloaded",
    }
}

impl Reason {
    /// Whether the same audio may be recognized later.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::RateLimited | Self::Timeout | Self::Unavailable | Self::Malformed)
    }
}
