//! What all pages have in common: the frame around them, and how they are sent.

use askama::Template;
use axum::{
    http::StatusCode,
    response::{Html, IntoResponse, Response},
};

use super::{
    assets,
    visitor::{PartRequest, Visitor},
};

/// The frame of a page.
#[derive(Default)]
pub(super) struct Frame {
    /// What the page is.
    pub(super) title: String,
    /// Which entry of the menu it belongs to.
    pub(super) here: &'static str,
    /// Who looks at it; `None`: unknown.
    pub(super) visitor: Option<Visitor>,
    /// Whether it goes on by itself.
    pub(super) is_live: bool,
    /// What was just done.
    pub(super) done: Option<&'static str>,
}

impl Frame {
    /// The frame of a visitor's page.
    pub(super) fn of(visitor: Visitor, here: &'static str, title: impl Into<String>) -> Self {
        Self { here, visitor: Some(visitor), ..Self::bare(title) }
    }

    /// Without menu and visitor.
    pub(super) fn bare(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// A page that goes on by itself.
    pub(super) fn live(self) -> Self {
        Self { is_live: true, ..self }
    }

    /// What the page's script asks for, if a script sent the request.
    pub(super) fn part_request(&self) -> Option<PartRequest> {
        self.visitor.as_ref().and_then(|visitor| visitor.part_request.clone())
    }

    /// The program's version.
    pub(super) fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// The URL of a static file.
    pub(super) fn asset(&self, name: &str) -> &'static str {
        assets::address(name)
    }

    /// What the page's scripts carry.
    pub(super) fn nonce(&self) -> &str {
        self.visitor.as_ref().map_or("", |visitor| visitor.nonce.0.as_str())
    }

    /// Says what was just done, by the word that stands in the address: only what stands here is ever shown.
    pub(super) fn after(self, word: Option<&str>) -> Self {
        let done = match word {
            Some("replayed") => Some("Replayed. The job is queued again."),
            Some("parked") => Some("Replayed, and parked until its user brings keys."),
            Some("hurried") => Some("It is due now."),
            Some("all-hurried") => Some("What waited is due now."),
            Some("job-cancelled") => Some("Cancelled. Its conversation is failed; a replay begins it anew."),
            Some("dismissed") => Some("Dismissed. It needs no more attention."),
            Some("paused") => Some("Paused."),
            Some("resumed") => Some("Resumed."),
            Some("cancelled") => Some("Cancelled. What was replayed goes on."),
            Some("started") => Some("The replay has begun. It goes on without this page."),
            Some("enabled") => Some("Enabled. What waited for the endpoint is due now."),
            Some("switched-off") => Some("Switched off for everybody."),
            Some("switched-on") => Some("Switched on."),
            Some("redelivered") => Some("It is due again."),
            Some("tried-now") => {
                Some("It is due now. One delivery is tried first; the others follow when it gets through.")
            }
            Some("recovered") => Some("What was given up is due again."),
            Some(IN_PART) => Some(
                "Not all could be done in the time of one form. Give the order again, and it goes on with the rest.",
            ),
            Some("unchanged") => Some("It was so already; nothing was changed."),
            _ => None,
        };
        Self { done, ..self }
    }

    /// Whether forms are shown.
    pub(super) fn may_act(&self) -> bool {
        self.visitor.as_ref().is_some_and(|visitor| visitor.may_act)
    }

    /// Whether this is the menu's entry `name`.
    pub(super) fn is_at(&self, name: &str) -> bool {
        self.here == name
    }
}

/// After an order for many rows that ended before the last of them.
pub(super) const IN_PART: &str = "in-part";

/// A page of a few sentences, or of what was done in each of several shards.
#[derive(Template)]
#[template(path = "message.html")]
pub(super) struct Message {
    pub(super) frame: Frame,
    pub(super) text: Vec<String>,
    pub(super) parts: Vec<Part>,
}

/// What was done in one of several shards.
pub(super) struct Part {
    pub(super) shard: String,
    pub(super) words: String,
    /// Where it is shown; empty where it is not.
    pub(super) address: String,
    /// What went wrong there.
    pub(super) fault: Option<&'static str>,
}

/// Sends a page that says why a form has nothing to do, and which shards that is said without.
pub(super) fn nothing(frame: Frame, words: &str, without: Option<String>) -> Response {
    let text = [Some(words.to_owned()), without].into_iter().flatten().collect();
    render(&Message { frame, text, parts: Vec::new() })
}

/// Sends a page.
pub(super) fn render(page: &impl Template) -> Response {
    render_as(StatusCode::OK, page)
}

/// Sends a page with a status.
pub(super) fn render_as(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => (status, Html(text)).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page of the console could not be written");
            // Not `Fault`: its page is a template, too.
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
