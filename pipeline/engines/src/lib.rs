//! What understands text: two families behind the ability traits of `stages` (DESIGN §7).

#![warn(clippy::indexing_slicing, clippy::string_slice)]
#![cfg_attr(test, allow(clippy::indexing_slicing, clippy::string_slice, reason = "a test may panic"))]

use chrono::{Duration, NaiveDate, NaiveDateTime, Timelike};

mod embedded;
mod openai;

pub use embedded::{DayOrder, DiscardReason, Embedded};
pub use openai::{BadConfig, Meter, OpenAi, OpenAiConfig};
pub use upstream::Patience;

/// When an event on a day without an hour begins, for a talk at `now`: at nine, or, when that is over, with the next hour.
fn start_of_day(date: NaiveDate, now: NaiveDateTime) -> Option<NaiveDateTime> {
    let nine = date.and_hms_opt(9, 0, 0)?;
    let next_hour = (now + Duration::hours(1)).with_minute(0)?.with_second(0)?.with_nanosecond(0)?;
    Some(if nine < now && next_hour.date() == date { next_hour } else { nine })
}
