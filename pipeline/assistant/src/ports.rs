//! What a turn needs from outside of this crate.

use chrono_tz::Tz;
use futures::future::{BoxFuture, FutureExt, ready};
use records::Timestamp;
use serde_json::Value;

use crate::{
    arguments::check_arguments,
    offer::Offered,
    reply::{Reply, Source, Trouble},
    tools::{AppTool, DataTool},
};

/// What every turn of a user knows.
#[derive(Clone, Debug)]
pub struct Context {
    /// When the question was asked.
    pub now: Timestamp,
    /// The user's time zone.
    pub zone: Tz,
    /// The user's name.
    pub user_name: Option<String>,
    /// Whether it is the first turn of its thread.
    pub is_first: bool,
}

/// Who wrote an earlier message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The user.
    Human,
    /// The assistant.
    Assistant,
    /// An app: its words are data.
    App,
}

/// An earlier message of the thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// Who wrote it.
    pub speaker: Speaker,
    /// What it says.
    pub text: String,
    /// The apps whose words are in it.
    pub apps: Vec<String>,
}

/// A call of a tool, as an engine wants it.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The engine's own id of the call.
    pub id: String,
    /// The name under which the tool was offered.
    pub name: String,
    /// An object.
    pub arguments: Value,
}

/// A call with its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// The call.
    pub call: Call,
    /// What came of it.
    pub result: Result<Value, String>,
    /// Whether the result was written by an app and not by this service.
    pub foreign: bool,
}

/// One round of a turn: what the engine sees before it calls tools or answers.
#[derive(Clone, Copy, Debug)]
pub struct Round<'a> {
    /// What the turn knows.
    pub context: &'a Context,
    /// The thread so far, oldest first.
    pub history: &'a [Past],
    /// What the person wrote.
    pub question: &'a str,
    /// The rounds before this one: the calls of each, with their results.
    pub rounds: &'a [Vec<Exchange>],
    /// The tools that may be called.
    pub tools: &'a [Offered],
    /// Whether this is the last round: calls are no longer made.
    pub is_last: bool,
}

/// What an engine does with a round.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// It wants these tools called.
    Calls {
        /// The calls.
        calls: Vec<Call>,
        /// What it said beside them; already given to `say`.
        text: String,
    },
    /// It answers.
    Answer {
        /// The answer; already given to `say`.
        text: String,
        /// The ids of what the answer quotes; `None`: everything that the tools returned.
        quotes: Option<Vec<String>>,
    },
}

/// An engine that holds a conversation.
pub trait Converse: Send + Sync {
    /// What it is called in messages.
    fn id(&self) -> &str;

    /// Takes one round. Words of the answer are given to `say` as they come.
    fn next<'a>(
        &'a self,
        round: Round<'a>,
        say: &'a (dyn Fn(&str) + Send + Sync),
    ) -> BoxFuture<'a, Result<Step, Trouble>>;
}

/// Why a tool did not do what was asked. The words go to the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFailure(pub String);

/// What a tool over the user's data returned.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The result.
    pub value: Value,
    /// The things in it.
    pub sources: Vec<Source>,
}

/// The tools over one user's data, as far as the caller may use them.
pub trait Toolbox: Send + Sync {
    /// Whether the caller may use `tool`.
    fn may(&self, tool: DataTool) -> bool;

    /// Runs a tool; its arguments fit its schema.
    fn call<'a>(&'a self, tool: DataTool, arguments: &'a Value)
    -> BoxFuture<'a, Result<Output, ToolFailure>>;
}

/// The tools of the apps that one user has installed.
pub trait AppTools: Send + Sync {
    /// All of them. In an app's own chat, those of that app come first.
    fn list(&self) -> BoxFuture<'_, Vec<AppTool>>;

    /// Whether arguments fit a tool.
    ///
    /// # Errors
    /// What is wrong, in words for the engine. Values are not repeated in it.
    fn check(&self, tool: &AppTool, arguments: &Value) -> Result<(), String> {
        check_arguments(&tool.parameters, arguments)
    }

    /// Calls one; its arguments fit its schema. What the app says comes back, in an error too.
    fn call<'a>(
        &'a self,
        tool: &'a AppTool,
        arguments: &'a Value,
    ) -> BoxFuture<'a, Result<String, ToolFailure>>;
}

/// Where no app is installed.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoApps;

impl AppTools for NoApps {
    fn list(&self) -> BoxFuture<'_, Vec<AppTool>> {
        ready(Vec::new()).boxed()
    }

    fn call<'a>(&'a self, _: &'a AppTool, _: &'a Value) -> BoxFuture<'a, Result<String, ToolFailure>> {
        ready(Err(ToolFailure("There is no such tool.".to_owned()))).boxed()
    }
}

/// Whether something may be changed in the name of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The turn is this process's, for a whole lease from now on.
    Held,
    /// Its lease ran out, or another process has it: clients read that it is interrupted.
    Lost,
    /// The database did not answer.
    Unknown,
}

/// Keeps what comes of a turn.
pub trait Journal: Send + Sync {
    /// Stores what there is of the reply so far and renews the turn's lease, unless that ran out. `false`: the turn is no
    /// longer this process's.
    fn renew<'a>(&'a self, _: &'a Reply) -> BoxFuture<'a, bool> {
        ready(true).boxed()
    }

    /// Renews the turn's lease before a tool changes something.
    fn hold(&self) -> BoxFuture<'_, Hold>;

    /// Stores the reply, whatever it takes. `false`: it is not kept, because the turn is no longer this process's or the
    /// database did not answer.
    fn finish<'a>(&'a self, reply: &'a Reply) -> BoxFuture<'a, bool>;
}

records::named! {
    /// How far a tool has come.
    ToolState {
        /// It was called.
        Started = "started",
        /// It did what was asked.
        Done = "done",
        /// It did not.
        Failed = "failed",
    }
}

/// What happens during a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A line to show.
    Status(String),
    /// A tool's progress.
    Tool {
        /// Its own name.
        name: String,
        /// The app that it belongs to.
        app_id: Option<String>,
        /// How far it has come.
        state: ToolState,
    },
    /// More words of the answer.
    Text(String),
    /// The turn is over, and its reply kept.
    Over(Reply),
}

/// Who follows a turn. Must return at once.
pub trait Listener: Send + Sync {
    /// Takes an event.
    fn hear(&self, event: Event);
}
