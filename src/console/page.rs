//! What all pages have in common: the frame around them, and how they are sent.

use askama::Template;
use axum::{
    http::{StatusCode, header},
    response::{Html, IntoResponse, Response},
};

use super::visitor::Visitor;

/// The frame of a page.
pub(super) struct Frame {
    /// What the page is.
    pub(super) title: String,
    /// Which entry of the menu it belongs to.
    pub(super) here: &'static str,
    /// Who looks at it; `None`: nobody that is known.
    pub(super) visitor: Option<Visitor>,
    /// Whether it is read again every few seconds.
    pub(super) is_live: bool,
    /// What was just done.
    pub(super) done: Option<&'static str>,
}

impl Frame {
    /// The frame of a visitor's page.
    pub(super) fn of(visitor: Visitor, here: &'static str, title: impl Into<String>) -> Self {
        Self { title: title.into(), here, visitor: Some(visitor), is_live: false, done: None }
    }

    /// Without menu and visitor.
    pub(super) fn bare(title: impl Into<String>) -> Self {
        Self { title: title.into(), here: "", visitor: None, is_live: false, done: None }
    }

    /// A page that is read again every few seconds.
    pub(super) fn live(self) -> Self {
        Self { is_live: true, ..self }
    }

    /// Says what was just done, by the word that stands in the address: only what stands here is ever shown.
    pub(super) fn after(self, word: Option<&str>) -> Self {
        let done = match word {
            Some("replayed") => Some("Replayed. The job is queued again."),
            Some("parked") => Some("Replayed, and parked until its user brings keys."),
            Some("settled") => Some("Settled. Nobody is asked to look at it any more."),
            Some("paused") => Some("Paused."),
            Some("resumed") => Some("Resumed."),
            Some("cancelled") => Some("Cancelled. What was replayed goes on."),
            Some("started") => Some("The replay has begun. It goes on without this page."),
            Some("enabled") => Some("Enabled. What waited for the endpoint is due now."),
            Some("recovered") => Some("What was given up is due again."),
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

/// A page of one sentence.
#[derive(Template)]
#[template(path = "message.html")]
pub(super) struct Message {
    pub(super) frame: Frame,
    pub(super) text: String,
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
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// What every answer of the console says to browsers: nothing from elsewhere, in nobody's frame, kept nowhere.
pub(super) async fn guarded(mut response: Response) -> Response {
    let policy =
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "same-origin"),
    ] {
        response.headers_mut().insert(name, header::HeaderValue::from_static(value));
    }
    let kept = header::HeaderValue::from_static("no-store");
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(kept);
    response
}
