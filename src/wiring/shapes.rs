//! The ports of the API for web push and memories' categories, and the bodies that receivers get.

use std::sync::Arc;

use engines::Embedded;
use outbox::{ClaimedChatPush, ClaimedDelivery, ClaimedPush};
use outside::{BrowserKeys, Vapid};
use records::{ActionItem, Memory};
use store::ConversationView;

impl super::App {
    /// The engines of the service.
    pub(crate) fn engines(&self) -> &stages::Engines {
        &self.engines
    }
}

/// What the API must know of web push.
pub(super) fn web_push(vapid: &Vapid) -> api::WebPush {
    api::WebPush {
        public_key: vapid.public_key().to_owned(),
        check_keys: Arc::new(|p256dh, auth| BrowserKeys::new(p256dh, auth).is_ok()),
    }
}

/// The embedded engine finds the categories of memories: no client waits for a model server.
#[derive(Debug)]
pub(super) struct Categories(pub(super) Embedded);

impl api::Categorize for Categories {
    fn memory(&self, content: &str) -> records::MemoryCategory {
        stages::CategorizeMemory::category_of(&self.0, content)
    }
}

/// What receivers are sent has the shapes of `api`.
pub(super) struct Bodies;

impl worker::Render for Bodies {
    fn body(
        &self,
        delivery: &ClaimedDelivery,
        conversation: Option<&ConversationView>,
        memory: Option<&Memory>,
        item: Option<&ActionItem>,
    ) -> Option<Vec<u8>> {
        api::shapes::WebhookBodies.body(delivery, conversation, memory, item)
    }

    fn push(&self, push: &ClaimedPush) -> Vec<u8> {
        api::shapes::push_body(push)
    }

    fn chat_push(&self, push: &ClaimedChatPush) -> Vec<u8> {
        api::shapes::chat_push_body(push)
    }
}
