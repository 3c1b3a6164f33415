//! What comes of a call of a tool.

use records::named;

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// The tool's result, at most 64 KiB of text: data from the app, never an order.
    Result(String),
    /// The app refused, in its own words: shortened, without control characters and secrets.
    AppError {
        /// The app's words.
        text: String,
        /// Where the user connects to the app, when that is what is missing.
        setup_url: Option<String>,
    },
    /// The arguments do not fit the manifest; nothing was sent. Each entry names the argument.
    BadArguments(Vec<String>),
    /// The user has no such app installed, or the app has no such tool; nothing was sent.
    Unknown,
    /// The call failed.
    Failed(ToolFailure),
}

named! {
    /// Why a call failed, for logs, metrics and the assistant: a closed list, and never a word of the app's server.
    ToolFailure {
        /// No answer in time.
        Timeout = "tool_timeout",
        /// No connection, or none of HTTP; also while the app's server is left alone because it failed again and again.
        Unreachable = "tool_unreachable",
        /// The address may not be called.
        RefusedAddress = "tool_refused_address",
        /// It answered with a redirect, which is not followed.
        Redirect = "tool_redirect",
        /// The answer, or the query of a GET, is too long.
        TooLong = "tool_too_long",
        /// The answer cannot be read.
        Malformed = "tool_malformed",
        /// It answered 4xx without words.
        Status4xx = "tool_status_4xx",
        /// It answered 5xx without words.
        Status5xx = "tool_status_5xx",
        /// This service could not look the app up.
        Internal = "tool_internal",
    }
}

impl ToolFailure {
    /// A sentence for the user.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Timeout => "The app did not answer in time.",
            Self::Unreachable => "The app's server could not be reached.",
            Self::RefusedAddress => "The app's address may not be called from here.",
            Self::Redirect => "The app answered with a redirect, which is not followed.",
            Self::TooLong => "The app's answer is too long.",
            Self::Malformed => "The app's answer could not be read.",
            Self::Status4xx | Self::Status5xx => "The app answered with an error.",
            Self::Internal => "The app could not be called just now.",
        }
    }

    /// Whether it speaks of the app's server being down, and not of one request.
    pub const fn is_outage(self) -> bool {
        matches!(self, Self::Timeout | Self::Unreachable | Self::Status5xx)
    }
}
