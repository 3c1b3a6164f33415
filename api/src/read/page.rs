//! What all lists share: limit, offset, and a range of dates.

use records::Timestamp;

use super::{Fields, Int, Moment};

/// A window of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// At most this many.
    pub(crate) limit: i64,
    /// Skip this many.
    pub(crate) offset: i64,
}

/// Reads `limit` (1 to `max`) and `offset` (from 0).
pub(crate) fn page(fields: &mut Fields<'_>, default: i64, max: i64) -> Page {
    let limit = fields.present("limit", Int::between(1, max)).unwrap_or(default);
    let offset = fields.present("offset", Int::at_least(0)).unwrap_or(0);
    Page { limit, offset }
}

/// Reads `start_date` and `end_date`, both inclusive; a date without a time means the whole UTC day at that end.
pub(crate) fn date_range(fields: &mut Fields<'_>) -> (Option<Timestamp>, Option<Timestamp>) {
    let start = fields.present("start_date", Moment).map(|start| start.at);
    let end = fields.present("end_date", Moment).map(|end| end.end());
    if let (Some(start), Some(end)) = (start, end)
        && start > end
    {
        let _: Option<()> =
            fields.report.at("end_date", |report| report.rule("end_date is before start_date"));
    }
    (start, end)
}
