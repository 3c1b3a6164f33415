//! The `Link` header of lists (RFC 8288): a page knows its neighbours, the body stays a bare array.

use axum::{
    Json,
    http::{HeaderValue, Uri, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::tagged;
use crate::{Error, door::Account, read::Page};

/// One more than a page holds: whether it comes says whether there is a next page.
pub(super) fn one_more(page: Page) -> i64 {
    page.limit + 1
}

/// Answers a page out of rows that were read with [`one_more`].
pub(super) fn answer<'r, T, S: Serialize>(
    uri: &Uri,
    page: Page,
    rows: &'r [T],
    shape: impl Fn(&'r T) -> S,
) -> Response {
    linked(Json(shapes(page, rows, shape)).into_response(), uri, page, rows.len())
}

/// The same where the answer may be large: its memory is reserved before it is used.
///
/// # Errors
/// [`Error::Overloaded`].
pub(super) fn answer_within<'r, T, S: Serialize>(
    account: &Account,
    uri: &Uri,
    page: Page,
    rows: &'r [T],
    shape: impl Fn(&'r T) -> S,
) -> Result<Response, Error> {
    let body = account.json(&shapes(page, rows, shape))?;
    let response = ([(header::CONTENT_TYPE, tagged::JSON)], body).into_response();
    Ok(linked(response, uri, page, rows.len()))
}

fn shapes<'r, T, S>(page: Page, rows: &'r [T], shape: impl Fn(&'r T) -> S) -> Vec<S> {
    rows.iter().take(size(page)).map(shape).collect()
}

fn size(page: Page) -> usize {
    usize::try_from(page.limit).unwrap_or(usize::MAX)
}

fn linked(mut response: Response, uri: &Uri, page: Page, rows: usize) -> Response {
    if let Some(links) = links(uri, page, rows > size(page)) {
        response.headers_mut().insert(header::LINK, links);
    }
    response
}

fn links(uri: &Uri, page: Page, has_next: bool) -> Option<HeaderValue> {
    let next = has_next.then(|| link(uri, page, page.offset.saturating_add(page.limit), "next"));
    let prev = (page.offset > 0).then(|| link(uri, page, (page.offset - page.limit).max(0), "prev"));
    let links: Vec<String> = next.into_iter().chain(prev).collect();
    if links.is_empty() {
        return None;
    }
    HeaderValue::from_str(&links.join(", ")).ok()
}

/// The same request with another offset; relative, so that it holds behind any proxy.
fn link(uri: &Uri, page: Page, offset: i64, rel: &str) -> String {
    let is_ours =
        |pair: &&str| !pair.is_empty() && !pair.starts_with("limit=") && !pair.starts_with("offset=");
    let others: String =
        uri.query().unwrap_or_default().split('&').filter(is_ours).map(|pair| format!("{pair}&")).collect();
    format!("<{}?{others}limit={}&offset={offset}>; rel=\"{rel}\"", uri.path(), page.limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header_of(uri: &'static str, limit: i64, offset: i64, has_next: bool) -> Option<String> {
        let value = links(&Uri::from_static(uri), Page { limit, offset }, has_next)?;
        value.to_str().ok().map(str::to_owned)
    }

    #[test]
    fn a_page_in_the_middle_names_both_neighbours_and_keeps_its_filters() {
        let expected = "</x?starred=true&limit=10&offset=15>; rel=\"next\", </x?starred=true&limit=10&offset=0>; rel=\"prev\"";
        assert_eq!(header_of("/x?limit=10&starred=true&offset=5", 10, 5, true).as_deref(), Some(expected));
    }

    #[test]
    fn a_single_page_has_no_neighbours() {
        assert_eq!(header_of("/x", 25, 0, false), None);
    }
}
