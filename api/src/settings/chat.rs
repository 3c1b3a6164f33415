//! What the API must know of the assistant.

use std::{collections::HashMap, sync::Arc};

use assistant::{AppTools, Converse, NoApps, Round, Step, Trouble};
use futures::{
    FutureExt,
    future::{BoxFuture, ready},
};
use records::UserId;
use secrecy::SecretString;

use crate::registry::Chat;

/// An engine that asks with a user's own key; `None` where no server is configured.
pub type EngineWithKey = Arc<dyn Fn(&SecretString) -> Option<Arc<dyn Converse>> + Send + Sync>;

/// The apps that one user has installed, as a chat sees them: read once.
pub struct UserApps {
    /// Their names by their ids.
    pub names: HashMap<String, String>,
    /// Their tools; in the chat of an app, that app's first.
    pub tools: Arc<dyn AppTools>,
    /// The memory that a turn with these tools takes for them.
    pub bytes: usize,
}

/// The apps of users, as far as chats know them.
pub trait ChatApps: Send + Sync {
    /// The names of the apps that `user` has installed, by their ids.
    fn names<'a>(&'a self, user: &'a UserId) -> BoxFuture<'a, HashMap<String, String>>;

    /// The apps that `user` has installed, for the chat of `app_id` or for the main one. Their tools take `room` bytes at most:
    /// an app whose own do not fit lends none.
    fn installed<'a>(
        &'a self,
        user: &'a UserId,
        app_id: Option<&'a str>,
        room: usize,
    ) -> BoxFuture<'a, UserApps>;
}

/// Where there are no apps.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoChatApps;

impl ChatApps for NoChatApps {
    fn names<'a>(&'a self, _: &'a UserId) -> BoxFuture<'a, HashMap<String, String>> {
        ready(HashMap::new()).boxed()
    }

    fn installed<'a>(&'a self, _: &'a UserId, _: Option<&'a str>, _: usize) -> BoxFuture<'a, UserApps> {
        ready(UserApps { names: HashMap::new(), tools: Arc::new(NoApps), bytes: 0 }).boxed()
    }
}

/// The assistant of one process.
#[derive(Clone)]
pub struct ChatSettings {
    /// The turns of this process.
    pub chat: Chat,
    pub engine: Arc<dyn Converse>,
    /// The engine for users who must bring a key and bring none: it costs nothing and asks no server.
    pub embedded: Arc<dyn Converse>,
    /// The engine for users who bring a key.
    pub with_key: EngineWithKey,
    pub apps: Arc<dyn ChatApps>,
    /// How many turns the process runs at once.
    pub most: usize,
}

impl Default for ChatSettings {
    fn default() -> Self {
        Self {
            chat: Chat::new(),
            engine: Arc::new(Mute),
            embedded: Arc::new(Mute),
            with_key: Arc::new(|_| None),
            apps: Arc::new(NoChatApps),
            most: 200,
        }
    }
}

/// Where no engine is wired, turns fail and say so.
struct Mute;

impl Converse for Mute {
    fn id(&self) -> &str {
        "none"
    }

    fn next<'a>(
        &'a self,
        _: Round<'a>,
        _: &'a (dyn Fn(&str) + Send + Sync),
    ) -> BoxFuture<'a, Result<Step, Trouble>> {
        ready(Err(Trouble::ModelUnavailable)).boxed()
    }
}
