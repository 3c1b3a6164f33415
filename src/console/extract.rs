//! What addresses and forms say, read so that every invalid value is answered with a page of ours.

use std::{collections::BTreeMap, convert::Infallible};

use axum::{
    body::Bytes,
    extract::{self, FromRequest, FromRequestParts, Request},
    http::request::Parts,
    response::{IntoResponse, Response},
};
use serde::de::DeserializeOwned;

use super::{Console, error::Fault};
use crate::{commands::paging::parse_cursor, lists::Place};

/// The parts of a path, as axum reads them. A part that can be no name is 404.
pub(super) struct Path<T>(pub(super) T);

/// A query string, as axum reads it. An unreadable query is an error that does not repeat its words.
pub(super) struct Query<T>(pub(super) T);

/// A form's fields, without those that were left empty.
pub(super) struct Form(pub(super) BTreeMap<String, String>);

impl FromRequestParts<Self> for Console {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, console: &Self) -> Result<Self, Infallible> {
        Ok(console.clone())
    }
}

impl<T: DeserializeOwned + Send> FromRequestParts<Console> for Path<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, Fault> {
        let missing = || Fault::Missing("There is no such page.".to_owned());
        // The database knows no text that holds U+0000, so nothing is named so.
        if parts.uri.path().contains("%00") {
            return Err(missing());
        }
        let read = extract::Path::<T>::from_request_parts(parts, console).await;
        read.map(|extract::Path(path)| Self(path)).map_err(|_| missing())
    }
}

impl<T: DeserializeOwned> FromRequestParts<Console> for Query<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &Console) -> Result<Self, Fault> {
        let query = parts.uri.query().unwrap_or_default();
        legible(form_urlencoded::parse(query.as_bytes()))?;
        let read = extract::Query::<T>::try_from_uri(&parts.uri);
        read.map(|extract::Query(query)| Self(query)).map_err(|_| Fault::Unreadable(unread(query)))
    }
}

impl FromRequest<Console> for Form {
    type Rejection = Response;

    async fn from_request(request: Request, console: &Console) -> Result<Self, Response> {
        let body = Bytes::from_request(request, console).await;
        let body = body.map_err(|unread| match unread.into_response() {
            long if long.status() == Fault::TOO_LONG => Fault::TooLong.into_response(),
            other => other,
        })?;
        legible(form_urlencoded::parse(&body)).map_err(IntoResponse::into_response)?;
        let fields = form_urlencoded::parse(&body).into_owned();
        let fields = fields.map(|(name, value)| (name, value.trim().to_owned()));
        Ok(Self(fields.filter(|(_, value)| !value.is_empty()).collect()))
    }
}

/// Refuses what no text of the database can hold: asked for, it would be refused there.
fn legible(pairs: form_urlencoded::Parse<'_>) -> Result<(), Fault> {
    let found = pairs.into_iter().find(|(name, value)| name.contains('\0') || value.contains('\0'));
    match found {
        Some((name, _)) => {
            let name = name.replace('\0', "");
            Err(Fault::Unreadable(format!("The field \"{name}\" holds U+0000, which no text can hold.")))
        }
        None => Ok(()),
    }
}

/// Why a query string could not be read.
fn unread(query: &str) -> String {
    let names: Vec<_> = form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name).collect();
    let twice = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name));
    match twice {
        Some((_, name)) => format!("The field \"{name}\" stands twice in the address."),
        None => "A field of the address is not what it must be.".to_owned(),
    }
}

/// A place in an address; what is empty is the list's beginning.
pub(super) fn read_place(word: &str) -> Result<Option<Place>, Fault> {
    let word = word.trim();
    if word.is_empty() {
        return Ok(None);
    }
    let none = || Fault::Unreadable("The cursor in the URL is invalid.".to_owned());
    parse_cursor(word).map(Some).ok_or_else(none)
}
