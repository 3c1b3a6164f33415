//! What the document says of each route: words beside the readers and schemas that the routes themselves use. One
//! file per resource, as with the routes.

mod conversations;
mod creates;
mod examples;
mod finalization;
mod keys;
mod webhooks;

use crate::{Settings, document::Operation};

/// Every operation of the public interface, in the order in which people read it.
pub(crate) fn described(settings: &Settings) -> Vec<Operation> {
    [
        creates::operations(settings),
        conversations::operations(),
        finalization::operations(),
        webhooks::operations(),
        keys::operations(),
    ]
    .concat()
}
