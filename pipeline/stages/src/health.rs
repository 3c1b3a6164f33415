//! What an engine knows of the server that it asks: facts for operators, never a word of what the server wrote.

use std::time::Duration;

use job::ErrorClass;

/// One answer of a server, or its silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerAnswer {
    /// How long ago.
    pub age: Duration,
    /// What was wrong; `None`: it was answered.
    pub class: Option<ErrorClass>,
    /// The status, where it was not a good answer and there was one. With no class: the server has no list of models, so
    /// that a check says nothing of the key.
    pub http_status: Option<u16>,
}

/// The server of an engine, as this process knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerHealth {
    /// For how long its circuit is still open, if it is.
    pub open_for: Option<Duration>,
    /// The last call of a run or of the assistant.
    pub called: Option<ServerAnswer>,
    /// The last time it was asked whether it is there and takes the key.
    pub checked: Option<ServerAnswer>,
}
