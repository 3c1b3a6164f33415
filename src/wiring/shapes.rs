//! The port of the API for memories' categories, and the bodies that receivers get.

use engines::Embedded;
use outbox::{ClaimedDelivery, ClaimedPush};
use records::{ActionItem, Memory};
use store::ConversationView;

/// The embedded engine finds the categories of memories: no client waits for a model server.
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
}
