//! Appending words to a conversation that is still in progress.

pub(crate) mod append;
mod row;
mod speakers;

use speakers::Speakers;

pub(crate) use row::{SegmentRow, weight};
pub use row::{insert_segments, said};

use std::collections::HashSet;

use chrono::TimeDelta;
use records::Segment;

/// Makes ready what a new conversation begins with: of segments with one id the first, their speakers numbered.
pub fn first_words(segments: &mut Vec<Segment>) {
    *segments = append::first_of_each(segments, HashSet::new());
    Speakers::stored([]).number(segments);
}

/// The largest end of the segments, to the microsecond.
pub fn length(segments: &[Segment]) -> TimeDelta {
    let seconds = segments.iter().map(|segment| segment.end).fold(0.0, f64::max);
    TimeDelta::microseconds((seconds * 1e6).round() as i64)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendRefusal {
    /// Unknown, deleted or another user's.
    NoConversation,
    /// Its words are already being processed: 409.
    NotInProgress,
    /// More than 10,000 segments, or 4 MiB of text and labels: 422.
    TooMuch,
    /// Their end lies after the year 9999: 422.
    TooLate,
}
