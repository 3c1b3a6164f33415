//! Pages of lists: how many rows, and where the next page begins. A cursor is one word.

use chrono::Datelike;
use clap::Args;
use records::Timestamp;

use crate::{exit::Exit, lists::Place};

/// Which part of a list.
#[derive(Args, Clone, Debug)]
pub(crate) struct Paging {
    /// Maximum number of rows.
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=1000))]
    pub(crate) limit: i64,
    /// Cursor of the page, as the page before printed it.
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
}

impl Paging {
    /// How many rows of a short list must be read to know whether another page follows.
    pub(crate) fn rows(&self) -> anyhow::Result<i64> {
        Ok(self.begins()? + self.limit + 1)
    }

    /// The page of a short list that was read from its beginning, and the cursor of the next one.
    pub(crate) fn page<T>(&self, read: Vec<T>) -> anyhow::Result<(Vec<T>, Option<String>)> {
        let end = self.begins()? + self.limit;
        let follows = i64::try_from(read.len()).is_ok_and(|rows| rows > end);
        let (begin, limit) = (usize::try_from(self.begins()?)?, usize::try_from(self.limit)?);
        Ok((read.into_iter().skip(begin).take(limit).collect(), follows.then(|| end.to_string())))
    }

    fn begins(&self) -> anyhow::Result<i64> {
        let Some(word) = &self.after else { return Ok(0) };
        word.parse().ok().filter(|begin| (0..=1_000_000).contains(begin)).ok_or_else(|| wrong(word))
    }

    /// The position after which a long list goes on: a moment and an id.
    pub(crate) fn position(&self) -> anyhow::Result<Option<Place>> {
        self.after.as_ref().map(|word| parse_cursor(word).ok_or_else(|| wrong(word))).transpose()
    }

    /// The cursor as it is, where it is an id.
    pub(crate) fn id(&self) -> Option<&str> {
        self.after.as_deref()
    }
}

/// Where a page of a long list begins, in one word.
pub(crate) fn cursor(at: Timestamp, id: impl std::fmt::Display) -> String {
    format!("{}.{id}", at.timestamp_micros())
}

/// What [`cursor`] wrote; `None` when it is invalid.
pub(crate) fn parse_cursor(word: &str) -> Option<Place> {
    let (micros, id) = word.split_once('.')?;
    let at = Timestamp::from_timestamp_micros(micros.parse().ok()?)?;
    has_four_digit_year(at).then(|| (at, id.to_owned()))
}

/// Whether a moment has a year of four digits: the database knows fewer years than
/// can be typed, and nothing happened in the others.
pub(crate) fn has_four_digit_year(at: Timestamp) -> bool {
    (1..=9999).contains(&at.year())
}

fn wrong(word: &str) -> anyhow::Error {
    Exit::Usage(format!("{word} is not a cursor of this list: take it from the page before")).into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn after(limit: i64, after: &str) -> Paging {
        Paging { limit, after: Some(after.to_owned()).filter(|after| !after.is_empty()) }
    }

    #[test]
    fn paging_of_a_short_list_continues_by_offset() {
        let all = || (1..=5).collect::<Vec<i32>>();
        assert_eq!(after(2, "").rows().unwrap(), 3);
        assert_eq!(after(2, "").page(all()).unwrap(), (vec![1, 2], Some("2".to_owned())));
        assert_eq!(after(2, "2").rows().unwrap(), 5);
        assert_eq!(after(2, "4").page(all()).unwrap(), (vec![5], None));
        assert!(after(2, "-1").rows().is_err() && after(2, "x").rows().is_err());
    }

    #[test]
    fn paging_cursor_of_a_long_list_round_trips() {
        let at = Timestamp::from_timestamp_micros(1_700_000_000_123_456).unwrap();
        let word = cursor(at, "fj_1.2");
        assert_eq!(after(1, &word).position().unwrap(), Some((at, "fj_1.2".to_owned())));
        assert_eq!(after(1, "").position().unwrap(), None);
        assert!(after(1, "7").position().is_err() && after(1, "99999999999999999999.x").position().is_err());
    }
}
