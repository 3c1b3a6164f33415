//! What came of a turn.

use records::Timestamp;

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyStatus {
    /// It is being worked on.
    Running,
    /// It was answered.
    Completed,
    /// It broke; the trouble says why.
    Failed,
    /// The process stopped in the middle of it.
    Stopped,
}

impl ReplyStatus {
    /// The name on the wire and in the table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }

    /// The status of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Running, Self::Completed, Self::Failed, Self::Stopped].into_iter().find(|s| s.as_str() == name)
    }
}

/// Why a turn failed: a closed list, in which no provider's words are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The model server did not answer in time.
    ModelTimeout,
    /// The model server cannot be reached, or says so itself.
    ModelUnavailable,
    /// The model server asks for patience.
    ModelRateLimited,
    /// The model server refuses the request.
    ModelRejected,
    /// What the model wrote cannot be read.
    ModelMalformed,
    /// The model server refuses the user's own key.
    KeyRejected,
    /// The turn took longer than it may.
    TurnTimeout,
    /// The engine called tools again and again and gave no answer.
    TooManyRounds,
    /// The process ended in the middle of the turn.
    Interrupted,
    /// A fault of the service's own.
    Internal,
}

impl Trouble {
    /// The code on the wire.
    pub const fn code(self) -> &'static str {
        match self {
            Self::ModelTimeout => "model_timeout",
            Self::ModelUnavailable => "model_unavailable",
            Self::ModelRateLimited => "model_rate_limited",
            Self::ModelRejected => "model_rejected",
            Self::ModelMalformed => "model_malformed",
            Self::KeyRejected => "byok_key_rejected",
            Self::TurnTimeout => "turn_timeout",
            Self::TooManyRounds => "too_many_rounds",
            Self::Interrupted => "interrupted",
            Self::Internal => "internal",
        }
    }

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

    /// The trouble of that code.
    pub fn from_code(code: &str) -> Option<Self> {
        [
            Self::ModelTimeout,
            Self::ModelUnavailable,
            Self::ModelRateLimited,
            Self::ModelRejected,
            Self::ModelMalformed,
            Self::KeyRejected,
            Self::TurnTimeout,
            Self::TooManyRounds,
            Self::Interrupted,
            Self::Internal,
        ]
        .into_iter()
        .find(|trouble| trouble.code() == code)
    }
}

/// What kind of thing a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// A conversation.
    Conversation,
    /// An action item.
    ActionItem,
    /// A memory.
    Memory,
    /// A goal.
    Goal,
}

impl SourceKind {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::ActionItem => "action_item",
            Self::Memory => "memory",
            Self::Goal => "goal",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Conversation, Self::ActionItem, Self::Memory, Self::Goal]
            .into_iter()
            .find(|k| k.as_str() == name)
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
