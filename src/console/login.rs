//! In with a key, and out again.

use askama::Template;
use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{AppendHeaders, IntoResponse, Redirect, Response},
};
use serde::Deserialize;

use super::{
    Console, Frame, Query,
    auth::cookie as sent_cookie,
    extract::Form,
    page::render_as,
    render,
    session::{COOKIE, LASTS},
};
use crate::config::ConsoleAccess;

#[derive(Template)]
#[template(path = "login.html")]
struct Page {
    frame: Frame,
    next: String,
    is_wrong: bool,
}

/// Where to go afterwards.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Next {
    next: String,
}

pub(super) async fn ask(console: Console, Query(next): Query<Next>) -> Response {
    match *console.access {
        ConsoleAccess::Keys(_) => render(&Page {
            frame: Frame::bare("Sign in"),
            next: ours(&next.next).to_owned(),
            is_wrong: false,
        }),
        ConsoleAccess::ThisMachine | ConsoleAccess::Proxy { .. } => Redirect::to("/console").into_response(),
    }
}

pub(super) async fn enter(console: Console, headers: HeaderMap, Form(fields): Form) -> Response {
    let next = ours(fields.get("next").map(String::as_str).unwrap_or_default());
    let key = fields.get("key").map(String::as_str).unwrap_or_default();
    let Some((name, may_act)) = console.access.whose(key) else {
        tracing::warn!("a key of the console was refused");
        let page = Page { frame: Frame::bare("Sign in"), next: next.to_owned(), is_wrong: true };
        return render_as(StatusCode::UNAUTHORIZED, &page);
    };
    let is_tls = headers.get("x-forwarded-proto").is_some_and(|scheme| scheme == "https");
    let cookie = cookie(&console.sessions.open(name, may_act), LASTS.as_secs(), is_tls);
    (AppendHeaders([(header::SET_COOKIE, cookie)]), Redirect::to(next)).into_response()
}

/// `POST /console/logout`: ends the session, for copies of its cookie too. It needs no token: to sign a visitor out does no harm.
pub(super) async fn leave(console: Console, headers: HeaderMap) -> Response {
    if let Some(session) = sent_cookie(&headers).and_then(|cookie| console.sessions.read(cookie)) {
        console.sessions.end(&session);
    }
    (AppendHeaders([(header::SET_COOKIE, cookie("", 0, false))]), Redirect::to("/console/login"))
        .into_response()
}

fn cookie(value: &str, seconds: u64, is_tls: bool) -> String {
    let secure = if is_tls { "; Secure" } else { "" };
    format!("{COOKIE}={value}; Path=/console; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

/// Pages of the console only: no redirect elsewhere.
fn ours(next: &str) -> &str {
    let is_ours = next == "/console" || next.starts_with("/console/") || next.starts_with("/console?");
    if is_ours && !next.starts_with("/console/login") && next.chars().all(|letter| letter.is_ascii_graphic())
    {
        next
    } else {
        "/console"
    }
}

#[cfg(test)]
mod tests {
    use super::ours;

    #[test]
    fn login_redirects_to_local_paths_only() {
        assert_eq!(ours("/console/jobs?status=queued"), "/console/jobs?status=queued");
        for elsewhere in [
            "https://a.example",
            "//a.example",
            "/consoles",
            "/console/login?next=x",
            "/console/\r\nX: y",
            "",
        ] {
            assert_eq!(ours(elsewhere), "/console", "{elsewhere}");
        }
    }
}
