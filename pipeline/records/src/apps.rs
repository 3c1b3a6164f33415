//! The summarization apps that are built in (DECISIONS §5, `trigger_apps`).

/// Their names, in the order in which they are shown. Off until a person enables them.
pub const APPS: [&str; 3] = ["minutes", "decisions", "questions"];
