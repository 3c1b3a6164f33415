//! What came of a turn.

use records::Timestamp;

records::named! {
    /// How a turn ended.
    ReplyStatus {
        /// It is being worked on.
        Running = "running",
        /// It was answered.
        Completed = "completed",
        /// It broke; the trouble says why.
        Failed = "failed",
        /// The process stopped in the middle of it.
        Stopped = "stopped",
    }
}

records::named! {
    /// Why a turn failed: a closed list, in which no provider's words are.
    Trouble {
        /// The model server did not answer in time.
        ModelTimeout = "model_timeout",
        /// The model server cannot be reached, or says so itself.
        ModelUnavailable = "model_unavailable",
        /// The model server asks for patience.
        ModelRateLimited = "model_rate_limited",
        /// The model server refuses the request.
        ModelRejected = "model_rejected",
        /// What the model wrote cannot be read.
        ModelMalformed = "model_malformed",
        /// The model server refuses the user's own key.
        KeyRejected = "byok_key_rejected",
        /// The turn took longer than it may.
        TurnTimeout = "turn_timeout",
        /// The engine called tools again and again and gave no answer.
        TooManyRounds = "too_many_rounds",
        /// The process ended in the middle of the turn.
        Interrupted = "interrupted",
        /// A fault of the service's own.
        Internal = "internal",
    }
}

impl Trouble {
    /// A sentence for the person.
    pub const fn detail(self) -> &'static str {
        match self {
            Self::ModelTimeout => "The language model did not answer in time.",
            Self::ModelUnavailable => "The language model cannot be reached at the moment.",
            Self::ModelRateLimited => "The language model is too busy at the moment.",
            Self::ModelRejected => "The language model refused the request.",
            Self::ModelMalformed => "The language model gave an answer that cannot be read.",
            Self::KeyRejected => "The language model refused your own key.",
            Self::TurnTimeout => "The answer took too long.",
            Self::TooManyRounds => "No answer was found within the permitted number of steps.",
            Self::Interrupted => "The answer was interrupted. What it had changed by then has been kept.",
            Self::Internal => "Something went wrong.",
        }
    }
}

records::named! {
    /// What kind of thing a source is.
    SourceKind {
        /// A conversation.
        Conversation = "conversation",
        /// An action item.
        ActionItem = "action_item",
        /// A memory.
        Memory = "memory",
        /// A goal.
        Goal = "goal",
    }
}

/// Where something in an answer comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The id of the thing.
    pub id: String,
    /// What it is.
    pub kind: SourceKind,
    /// Its title, or its words.
    pub title: String,
    /// When it began or was made.
    pub created_at: Timestamp,
}

/// A tool that was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolUse {
    /// Its own name.
    pub name: String,
    /// The app that it belongs to.
    pub app_id: Option<String>,
    /// Whether it did what was asked.
    pub ok: bool,
    /// How long it took.
    pub millis: u32,
}

/// What came of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// How it ended.
    pub status: ReplyStatus,
    /// Why it failed.
    pub trouble: Option<Trouble>,
    /// The answer, or what there was of it.
    pub text: String,
    /// What the answer rests on.
    pub sources: Vec<Source>,
    /// The tools that were called, in order.
    pub tools: Vec<ToolUse>,
    /// Which engine answered.
    pub engine: String,
}
