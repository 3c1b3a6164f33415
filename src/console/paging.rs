//! Pages of lists that are ordered by time and id: where one begins, and whether there is another.

use super::Fault;
use crate::{commands::paging::parse_cursor, lists::Place};

/// A place in an address; what is empty is the list's beginning.
pub(super) fn read_place(word: &str) -> Result<Option<Place>, Fault> {
    if word.is_empty() {
        return Ok(None);
    }
    let none = || Fault::Unreadable("The cursor in the URL is invalid.".to_owned());
    parse_cursor(word).map(Some).ok_or_else(none)
}
