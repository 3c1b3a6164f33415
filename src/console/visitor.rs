//! Who looks at a page, and what their request asks for.

use std::sync::Arc;

/// A visitor who may read.
#[derive(Clone, Debug)]
pub(super) struct Visitor {
    /// As actions are recorded.
    pub(super) name: String,
    /// Whether they may change something.
    pub(super) may_act: bool,
    /// Whether there is a session to end.
    pub(super) has_session: bool,
    /// What forms carry, so that they are known to be ours.
    pub(super) token: String,
    /// What scripts carry, so that they are known to be ours.
    pub(super) nonce: Nonce,
    /// What the page's script asks for; `None`: the page.
    pub(super) part_request: Option<PartRequest>,
    /// Where the boards are.
    pub(super) boards: Option<Arc<str>>,
}

/// What scripts of a page carry, so that the browser knows them to be ours: another one in every answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Nonce(pub(super) String);

/// What a page's script asks for.
#[derive(Clone, Debug)]
pub(super) struct PartRequest {
    /// The page's path and query.
    pub(super) address: String,
    /// The digest of the part that it shows.
    pub(super) shown: Option<String>,
}
