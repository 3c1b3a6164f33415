//! The `Link` header of lists (RFC 8288): a page knows its neighbours, the body stays a bare array.

use axum::{
    Json,
    http::{HeaderValue, Uri, header},
    response::{IntoResponse, Response},
};
use db::After;
use outbox::DeliveryView;
use records::{ActionItem, Goal, Memory};
use serde::{Serialize, Serializer};
use store::{App, ConversationView, KnownPerson};

use super::tagged;
use crate::{
    Answered,
    read::{Page, cursor_of},
    state::Account,
};

/// One more than a page holds: whether it comes says whether there is a next page.
pub(super) fn one_more(page: Page) -> i64 {
    page.limit + 1
}

/// Answers a page out of rows that were read with [`one_more`].
pub(super) fn answer<'r, T: Row, S: Serialize>(
    uri: &Uri,
    page: Page,
    rows: &'r [T],
    shape: impl Fn(&'r T) -> S,
) -> Response {
    linked(Json(Shapes::of(page, rows, shape)).into_response(), uri, page, rows)
}

/// A row of a list.
pub(super) trait Row {
    /// Where the next page goes on when this row is the last one; `None`: the list has no cursors.
    fn after(&self) -> Option<After> {
        None
    }
}

impl Row for ConversationView {
    fn after(&self) -> Option<After> {
        let record = &self.conversation;
        Some(After { created_at: record.created_at, position: 0, id: record.id.to_string() })
    }
}

impl Row for ActionItem {
    fn after(&self) -> Option<After> {
        Some(After { created_at: self.created_at, position: self.position, id: self.id.to_string() })
    }
}

impl Row for Memory {
    fn after(&self) -> Option<After> {
        Some(After { created_at: self.created_at, position: 0, id: self.id.to_string() })
    }
}

impl Row for DeliveryView {
    fn after(&self) -> Option<After> {
        Some(After { created_at: self.created_at, position: 0, id: self.id.clone() })
    }
}

impl Row for Goal {}
impl Row for App {}
impl Row for KnownPerson {}

/// The same where the answer may be large: its memory is reserved before it is used.
///
/// # Errors
/// [`crate::error::Code::Overloaded`].
pub(super) fn answer_within<'r, T: Row, S: Serialize>(
    account: &Account,
    uri: &Uri,
    page: Page,
    rows: &'r [T],
    shape: impl Fn(&'r T) -> S,
) -> Answered {
    let body = account.json(&Shapes::of(page, rows, shape))?;
    let response = ([(header::CONTENT_TYPE, tagged::JSON)], body).into_response();
    Ok(linked(response, uri, page, rows))
}

/// The rows of a page, each shaped when it is written: a shape may be many times as large as what is written of it.
struct Shapes<'r, T, F> {
    rows: &'r [T],
    shape: F,
}

impl<'r, T, F> Shapes<'r, T, F> {
    fn of(page: Page, rows: &'r [T], shape: F) -> Self {
        Self { rows: rows.get(..size(page)).unwrap_or(rows), shape }
    }
}

impl<'r, T, S: Serialize, F: Fn(&'r T) -> S> Serialize for Shapes<'r, T, F> {
    fn serialize<W: Serializer>(&self, writer: W) -> Result<W::Ok, W::Error> {
        writer.collect_seq(self.rows.iter().map(&self.shape))
    }
}

fn size(page: Page) -> usize {
    usize::try_from(page.limit).unwrap_or(usize::MAX)
}

fn linked<T: Row>(mut response: Response, uri: &Uri, page: Page, rows: &[T]) -> Response {
    let has_next = rows.len() > size(page);
    let cursor = size(page).checked_sub(1).and_then(|last| rows.get(last)?.after());
    if let Some(links) = links(uri, page, has_next, cursor.as_ref().map(cursor_of).as_deref()) {
        response.headers_mut().insert(header::LINK, links);
    }
    response
}

fn links(uri: &Uri, page: Page, has_next: bool, cursor: Option<&str>) -> Option<HeaderValue> {
    let next = has_next.then(|| link(uri, page, cursor, page.offset.saturating_add(page.limit), "next"));
    let prev = (page.offset > 0).then(|| link(uri, page, None, (page.offset - page.limit).max(0), "prev"));
    let links: Vec<String> = next.into_iter().chain(prev).collect();
    if links.is_empty() {
        return None;
    }
    HeaderValue::from_str(&links.join(", ")).ok()
}

/// The same request with another offset; relative, so that it holds behind any proxy. The next page's has a cursor, too, by which
/// it misses and repeats nothing when rows were added meanwhile.
fn link(uri: &Uri, page: Page, cursor: Option<&str>, offset: i64, rel: &str) -> String {
    let is_ours = |pair: &&str| {
        !pair.is_empty() && !["limit=", "offset=", "cursor="].iter().any(|name| pair.starts_with(name))
    };
    let cursor = cursor.map(|cursor| format!("cursor={cursor}&")).unwrap_or_default();
    let others: String =
        uri.query().unwrap_or_default().split('&').filter(is_ours).map(|pair| format!("{pair}&")).collect();
    format!("<{}?{others}{cursor}limit={}&offset={offset}>; rel=\"{rel}\"", uri.path(), page.limit)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Counts how many of them are there.
    struct Counted<'c>(&'c Cell<usize>);

    impl<'c> Counted<'c> {
        fn new(there: &'c Cell<usize>) -> Self {
            there.set(there.get() + 1);
            Self(there)
        }
    }

    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() - 1);
        }
    }

    impl Serialize for Counted<'_> {
        fn serialize<W: Serializer>(&self, writer: W) -> Result<W::Ok, W::Error> {
            writer.serialize_u64(self.0.get() as u64)
        }
    }

    #[test]
    fn page_holds_the_shape_of_one_row_at_a_time() {
        let there = Cell::new(0);
        let shapes = Shapes::of(Page { limit: 3, offset: 0 }, &[(); 4], |_: &()| Counted::new(&there));
        assert_eq!(serde_json::to_string(&shapes).ok().as_deref(), Some("[1,1,1]"));
    }

    fn header_of(uri: &'static str, limit: i64, offset: i64, has_next: bool) -> Option<String> {
        let value = links(&Uri::from_static(uri), Page { limit, offset }, has_next, Some("c"))?;
        value.to_str().ok().map(str::to_owned)
    }

    #[test]
    fn pagination_links_keep_filters_and_name_both_neighbours() {
        let expected = "</x?starred=true&cursor=c&limit=10&offset=15>; rel=\"next\", </x?starred=true&limit=10&offset=0>; rel=\"prev\"";
        assert_eq!(
            header_of("/x?limit=10&cursor=b&starred=true&offset=5", 10, 5, true).as_deref(),
            Some(expected)
        );
    }

    #[test]
    fn single_page_has_no_pagination_links() {
        assert_eq!(header_of("/x", 25, 0, false), None);
    }
}
