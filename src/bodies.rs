//! What receivers are sent has the shapes of `api`.

use ledger::{ClaimedChatPush, ClaimedDelivery, ClaimedPush, ConversationView};
use records::{ActionItem, Memory};

/// Renders deliveries and pushes.
pub(crate) struct Bodies;

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
