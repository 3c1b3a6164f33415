//! What all lists share: limit, offset, and a range of dates.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use db::After;
use records::Timestamp;
use serde_json::{Value, json};

use super::{Fields, Int, Moment, Report, Take, in_calendar};

/// A window of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) limit: i64,
    pub(crate) offset: i64,
}

/// Reads `limit` (1 to `max`) and `offset` (from 0).
pub(crate) fn page(fields: &mut Fields<'_>, default: i64, max: i64) -> Page {
    let limit = fields.present("limit", Int::between(1, max)).unwrap_or(default);
    let offset = fields.present("offset", Int::at_least(0)).unwrap_or(0);
    Page { limit, offset }
}

/// Reads `cursor`: where the page goes on, as a `Link` gave it. A page with one begins there, whatever its offset says.
pub(crate) fn cursor(fields: &mut Fields<'_>) -> Option<After> {
    fields.present("cursor", Cursor)
}

/// The cursor that goes on after a row.
pub(crate) fn cursor_of(after: &After) -> String {
    let After { created_at, position, id } = after;
    URL_SAFE_NO_PAD.encode(format!("{}.{position}.{id}", created_at.timestamp_micros()))
}

struct Cursor;

impl Cursor {
    fn read(text: &str) -> Option<After> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let mut parts = std::str::from_utf8(&bytes).ok()?.splitn(3, '.');
        let created_at =
            Timestamp::from_timestamp_micros(parts.next()?.parse().ok()?).filter(|at| in_calendar(*at))?;
        let position = parts.next()?.parse().ok()?;
        let id = parts.next().filter(|id| !id.is_empty() && !id.contains('\0'))?.to_owned();
        Some(After { created_at, position, id })
    }
}

impl Take for Cursor {
    type Out = After;

    fn take(&self, value: &Value, report: &mut Report) -> Option<After> {
        match value.as_str().and_then(Self::read) {
            Some(after) => Some(after),
            None => report.rule("the cursor is not one that a Link header gave"),
        }
    }

    fn schema(&self) -> Value {
        json!({ "type": "string" })
    }
}

/// Reads `start_date` and `end_date`, both inclusive; a date without a time means the whole UTC day at that end.
pub(crate) fn date_range(fields: &mut Fields<'_>) -> (Option<Timestamp>, Option<Timestamp>) {
    let start = fields.present("start_date", Moment).map(|start| start.at);
    let end = fields.present("end_date", Moment).map(|end| end.end());
    if let (Some(start), Some(end)) = (start, end)
        && start > end
    {
        fields.refuse("end_date", "end_date is before start_date");
    }
    (start, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_cursor_round_trips_and_other_text_is_rejected() {
        let after = |id: &str| After { created_at: Timestamp::UNIX_EPOCH, position: 3, id: id.to_owned() };
        for id in ["a", "goal_1.2", "ä"] {
            assert_eq!(Cursor::read(&cursor_of(&after(id))), Some(after(id)));
        }
        // The last three lie beyond what chrono, PostgreSQL and the calendar of clients have.
        let made_up = ["9223372036854775807.0.a", "-8000000000000000000.0.a", "253402300800000000.0.a"];
        let made_up = made_up.map(|text| URL_SAFE_NO_PAD.encode(text));
        let broken = ["", "x", "!", "MQ", "MS4y", "MS4yLg"];
        for wrong in broken.into_iter().chain(made_up.iter().map(String::as_str)) {
            assert_eq!(Cursor::read(wrong), None, "{wrong}");
        }
    }
}
