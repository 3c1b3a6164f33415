//! What all pages have in common: the frame around them, and how they are sent.

use askama::Template;
use axum::{
    extract::{FromRequestParts, Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::{Html, IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ledger::Ledger;
use rand::RngExt;

use super::{Console, assets, fault::Fault, live::PartRequest, visitor::Visitor};
use crate::wiring::chance;

/// What scripts of a page carry, so that the browser knows them to be ours: another one in every answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Nonce(String);

/// The frame of a page.
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
        Self { title: title.into(), here, visitor: Some(visitor), is_live: false, done: None }
    }

    /// Without menu and visitor.
    pub(super) fn bare(title: impl Into<String>) -> Self {
        Self { title: title.into(), here: "", visitor: None, is_live: false, done: None }
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

    /// The address of a file beside the pages.
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

impl Console {
    /// [`in_time`], of its own ledger.
    ///
    /// # Errors
    /// As there.
    pub(super) async fn in_time<T>(&self, page: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        in_time(&self.ledger, page).await
    }
}

/// Waits for what a page shows no longer than for any answer of the database.
///
/// # Errors
/// Those of `page`; [`Fault::Database`] when nothing was heard of it.
pub(super) async fn in_time<T>(
    ledger: &Ledger,
    page: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    let made = ledger.db().in_time(async { Ok(page.await) }).await?;
    if let Err(Fault::Migrated) = made {
        ledger.db().replan();
    }
    made
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
            // Not `Fault`: its page is a template, too.
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// The entry of the menu that a path belongs to.
fn menu(path: &str) -> &'static str {
    let part = path.split('/').nth(2).unwrap_or_default();
    let known = ["jobs", "replays", "webhooks", "apps", "audit"];
    known.into_iter().find(|name| *name == part).unwrap_or_default()
}

/// What every answer of the console says to browsers: nothing from elsewhere, no script but ours, in no frame,
/// kept nowhere.
pub(super) async fn guarded(State(console): State<Console>, request: Request, next: Next) -> Response {
    let nonce = URL_SAFE_NO_PAD.encode(chance().random::<[u8; 16]>());
    let (mut parts, body) = request.into_parts();
    parts.extensions.insert(Nonce(nonce.clone()));
    let mut copy = parts.clone();
    let mut response = next.run(Request::from_parts(parts, body)).await;
    if let Some(fault) = response.extensions_mut().remove::<Fault>().filter(Fault::has_visitor)
        && let Ok(visitor) = Visitor::from_request_parts(&mut copy, &console).await
    {
        let here = menu(copy.uri.path());
        response = fault.page(|heading| Frame::of(visitor, here, heading));
    }
    let policy = format!(
        "default-src 'self'; script-src 'nonce-{nonce}'; require-trusted-types-for 'script'; trusted-types htmx; \
         base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    );
    // It is made of letters that a header may have.
    let policy = HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "same-origin"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use std::{future::pending, sync::Arc};

    use ledger::{Ledger, Settings};
    use sqlx::postgres::PgConnectOptions;

    use super::*;
    use crate::console::{door::Door, live::Parts, session::Sessions};

    #[tokio::test(start_paused = true)]
    async fn a_page_that_nothing_is_heard_of_is_that_of_an_absent_database() {
        // Nothing is asked of any database.
        let ledger = Ledger::new(PgConnectOptions::new_without_pgpass(), Settings::default());
        let sessions = Arc::new(Sessions::new([7; 32]));
        let (door, parts) = (Arc::new(Door::ThisMachine), Parts::default());
        let console = Console { shards: ledger.clone().into(), ledger, door, sessions, parts, boards: None };
        let silent: Result<(), Fault> = console.in_time(pending()).await;
        assert!(matches!(silent, Err(Fault::Database)), "{silent:?}");
        let quick = console.in_time(async { Ok(7) }).await;
        assert!(matches!(quick, Ok(7)), "{quick:?}");
    }
}
