//! Pages of lists that are ordered by time and id: where one begins, and whether there is another.

use job::Timestamp;

use super::fault::Fault;
use crate::{commands::paging::has_four_digit_year, lists::Place};

/// A place, as addresses carry it.
pub(super) fn write_place(at: Timestamp, id: &str) -> String {
    format!("{}.{id}", at.timestamp_micros())
}

/// What [`write_place`] wrote; `None` when it is invalid.
pub(super) fn parse_place(word: &str) -> Option<Place> {
    let (micros, id) = word.split_once('.')?;
    let at = Timestamp::from_timestamp_micros(micros.parse().ok()?)?;
    has_four_digit_year(at).then(|| (at, id.to_owned()))
}

/// The same from an address; what is empty is the list's beginning.
pub(super) fn read_place(word: &str) -> Result<Option<Place>, Fault> {
    if word.is_empty() {
        return Ok(None);
    }
    let none = || Fault::Unreadable("The cursor in the URL is invalid.".to_owned());
    parse_place(word).map(Some).ok_or_else(none)
}
