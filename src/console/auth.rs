//! Who asks: read from each request before a page is made, and once more, stricter, before anything is changed.

use std::{collections::BTreeMap, net::SocketAddr};

use axum::{
    extract::{ConnectInfo, FromRequest, FromRequestParts, Request},
    http::{HeaderMap, Method, header, request::Parts},
    response::{IntoResponse, Redirect, Response},
};
use ledger::OperatorAction;

use super::{
    Console,
    error::Fault,
    extract::Form,
    session::COOKIE,
    visitor::{Nonce, PartRequest, Visitor},
};
use crate::config::ConsoleAccess;

/// A visitor who may act, and did so with a form of ours. There is no other way to an [`OperatorAction`].
pub(super) struct Acting {
    operator: String,
    fields: BTreeMap<String, String>,
}

impl FromRequestParts<Console> for Visitor {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, Response> {
        let (name, may_act, has_session, token) = match &*console.access {
            ConsoleAccess::ThisMachine if is_this_machine(parts) => {
                ("this machine".to_owned(), false, false, String::new())
            }
            ConsoleAccess::ThisMachine => return Err(Fault::Closed.into_response()),
            ConsoleAccess::Keys(_) => {
                let cookie = cookie(&parts.headers).unwrap_or_default();
                let session = console.sessions.read(cookie).ok_or_else(|| to_login(parts))?;
                (session.name, session.may_act, true, console.sessions.token(cookie))
            }
            ConsoleAccess::Proxy { header, operators } => {
                let mut named = parts.headers.get_all(header).iter();
                let name = named.next().and_then(|name| name.to_str().ok()).map(str::trim);
                if named.next().is_some() {
                    // One of them may be the visitor's own, and which one is not to be seen.
                    tracing::warn!(%header, "a request to the console names its visitor twice: the proxy must drop what visitors send");
                    return Err(Fault::NamedTwice.into_response());
                }
                let name = name.filter(|name| (1..=64).contains(&name.len())).ok_or(Fault::Unnamed);
                let name = name.map_err(IntoResponse::into_response)?.to_owned();
                (name.clone(), operators.contains(&name), false, console.sessions.token(&name))
            }
        };
        Ok(Self {
            name,
            may_act,
            has_session,
            token,
            nonce: parts.extensions.get::<Nonce>().cloned().unwrap_or_default(),
            part_request: part_request(parts),
            boards: console.boards.clone(),
        })
    }
}

pub(super) fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, value)| value)
}

/// The address, where the script of a page asks for its live part.
fn part_request(parts: &Parts) -> Option<PartRequest> {
    parts.headers.get("hx-request")?;
    let address = parts.uri.path_and_query().map_or("", |address| address.as_str()).to_owned();
    let shown = parts.headers.get(header::IF_NONE_MATCH).and_then(|digest| digest.to_str().ok());
    Some(PartRequest { address, shown: shown.map(str::to_owned) })
}

/// To the login, and from there to where they wanted to go. A script has no page to show a login on.
fn to_login(parts: &Parts) -> Response {
    if part_request(parts).is_some() {
        return Fault::SignedOut.into_response();
    }
    let next = if parts.method == Method::GET { parts.uri.path_and_query() } else { None };
    let next = next.map_or("/console", |next| next.as_str());
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("next", next).finish();
    Redirect::to(&format!("/console/login?{query}")).into_response()
}

/// A loopback peer that asks for a loopback host and was not forwarded: neither a proxy on this machine nor a page
/// of another site whose name was made to mean this machine reads along.
fn is_this_machine(parts: &Parts) -> bool {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    let forwarded = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];
    let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => host.split(':').next(),
    };
    let name = name.unwrap_or_default();
    let is_local = name == "localhost" || name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    let is_peer = peer.is_some_and(|peer| peer.0.ip().to_canonical().is_loopback());
    is_peer && is_local && !forwarded.iter().any(|name| parts.headers.contains_key(*name))
}

impl FromRequest<Console> for Acting {
    type Rejection = Response;

    async fn from_request(request: Request, console: &Console) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let visitor = Visitor::from_request_parts(&mut parts, console).await?;
        if !visitor.may_act {
            return Err(Fault::MayNotAct.into_response());
        }
        let visit = match &*console.access {
            ConsoleAccess::Keys(_) => cookie(&parts.headers).unwrap_or_default().to_owned(),
            ConsoleAccess::ThisMachine | ConsoleAccess::Proxy { .. } => visitor.name.clone(),
        };
        let Form(fields) = Form::from_request(Request::from_parts(parts, body), console).await?;
        let token = fields.get("token").map(String::as_str).unwrap_or_default();
        if !console.sessions.is_token(&visit, token) {
            return Err(Fault::ForeignForm.into_response());
        }
        Ok(Self { operator: visitor.name, fields })
    }
}

impl Acting {
    /// What was sent under `name`.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }

    /// All that was sent.
    pub(super) fn fields(&self) -> &BTreeMap<String, String> {
        &self.fields
    }

    /// Who acts and why, as it is recorded.
    pub(super) fn action(&self) -> Result<OperatorAction, Fault> {
        let reason = self.field("reason").unwrap_or_default();
        match reason.chars().count() {
            3..=500 => Ok(OperatorAction::new(&self.operator, reason)),
            _ => Err(Fault::NoReason),
        }
    }
}
