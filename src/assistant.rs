//! Ties the assistant's engines to the port that `api` declares for them.

use std::sync::Arc;

use assistant::Converse;

/// The engines of the assistant: the configured one, the one that costs nothing, and the one with a user's key.
#[derive(Clone)]
pub(crate) struct AssistantEngines {
    pub(crate) engine: Arc<dyn Converse>,
    pub(crate) embedded: Arc<dyn Converse>,
    pub(crate) with_key: api::EngineWithKey,
}

impl AssistantEngines {
    /// What the API is handed.
    pub(crate) fn settings(&self, chat: &api::Chat, apps: Arc<dyn api::ChatApps>) -> api::ChatSettings {
        api::ChatSettings {
            chat: chat.clone(),
            engine: Arc::clone(&self.engine),
            embedded: Arc::clone(&self.embedded),
            with_key: Arc::clone(&self.with_key),
            apps,
            ..api::ChatSettings::default()
        }
    }
}
