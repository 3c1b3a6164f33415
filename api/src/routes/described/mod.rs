//! What the document says of each route: words beside the readers and schemas that the routes themselves use. One
//! file per resource, as with the routes.

mod action_items;
mod apps;
mod audio_webhook;
mod chat;
mod conversations;
mod creates;
mod examples;
mod finalization;
mod goals;
mod keys;
mod live;
mod memories;
mod profile;
mod status;
mod webhooks;

use std::collections::HashMap;

use crate::{Scope, Settings, document::Operation};

/// A field's name, its words, and its default as JSON (empty: none).
type Note = (&'static str, &'static str, &'static str);

const CURSOR: Note = (
    "cursor",
    "Go on after the last row of a page: the `Link` header of that page gives it, with `rel=\"next\"`. It repeats and misses \
     nothing when rows are added meanwhile; `offset` then counts for nothing.",
    "",
);

/// Every operation of the public interface, in the order in which people read it.
pub(crate) fn described(settings: &Settings) -> Vec<Operation> {
    [
        creates::operations(settings),
        conversations::operations(),
        finalization::operations(),
        live::operations(settings),
        audio_webhook::operations(),
        action_items::operations(),
        memories::operations(),
        goals::operations(),
        chat::operations(),
        webhooks::operations(),
        profile::operations(),
        keys::operations(),
        apps::operations(),
        status::operations(),
    ]
    .concat()
}

/// The routes that take an `Idempotency-Key`, with the scope that each demands.
pub(crate) fn creating(settings: &Settings) -> HashMap<&'static str, Scope> {
    let creating = described(settings).into_iter().filter(|operation| operation.creates);
    creating.filter_map(|operation| Some((operation.path, operation.scope?))).collect()
}

/// The patterns of all routes: the operations', and the pages that tell of them.
pub(crate) fn patterns(settings: &Settings) -> Vec<&'static str> {
    let operations = described(settings).into_iter().map(|operation| operation.path);
    let live = settings.live.page.then_some("/live");
    operations
        .chain(["/openapi.json", "/v1/dev/openapi.json", "/asyncapi.json", "/docs", "/mcp"])
        .chain(live)
        .collect()
}
