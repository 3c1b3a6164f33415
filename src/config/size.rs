//! A size in bytes, as people write it.

use std::{fmt, str::FromStr};

const UNITS: [(&str, usize); 6] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1), ("", 1)];

/// A number of bytes: `256MiB`, `1GiB`, `1048576`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(usize);

impl Size {
    pub(crate) fn of(bytes: usize) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(self) -> usize {
        self.0
    }
}

/// Why a text is no size.
#[derive(Debug, thiserror::Error)]
#[error(
    "a size is a whole number of bytes, or one with a unit: 256MiB, 1GiB (KiB, MiB, GiB and TiB are powers of 1,024)"
)]
pub(crate) struct NoSize;

impl FromStr for Size {
    type Err = NoSize;

    fn from_str(text: &str) -> Result<Self, NoSize> {
        let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        let unit = text.strip_prefix(digits).unwrap_or_default().trim();
        let known = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).ok_or(NoSize)?;
        let number: usize = digits.parse().map_err(|_| NoSize)?;
        number.checked_mul(known.1).map(Self).ok_or(NoSize)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, bytes) = UNITS.iter().find(|(_, bytes)| self.0.is_multiple_of(*bytes)).unwrap_or(&("", 1));
        write!(f, "{}{name}", self.0 / bytes)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

    use super::*;

    #[test]
    fn size_is_parsed_with_and_without_unit_and_shown_in_the_largest() {
        for (text, bytes, shown) in [
            ("256MiB", 256 << 20, "256MiB"),
            ("1 gib", 1 << 30, "1GiB"),
            ("1TiB", 1 << 40, "1TiB"),
            ("1048576", 1 << 20, "1MiB"),
            ("1025", 1_025, "1025B"),
        ] {
            let size: Size = text.parse().unwrap();
            assert_eq!((size.bytes(), size.to_string().as_str()), (bytes, shown));
        }
        for text in ["", "MiB", "1.5GiB", "-1", "256MB", "12 apples", "99999999999999GiB"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
