//! What people and things may be called, where it is typed: as long as over HTTP, and readable on a terminal.

use records::is_one_line;

/// The longest id that an operator chooses, in characters.
const LONGEST_ID: usize = 128;

/// A name, of an operator too: an action in the audit log is one line.
pub(super) fn name(words: &str) -> Result<String, String> {
    let name = bounded(words, 1, 100)?;
    match is_one_line(&name) {
        true => Ok(name),
        false => Err("a name has no line breaks and no control characters".to_owned()),
    }
}

/// What a thing is for.
pub(super) fn description(words: &str) -> Result<String, String> {
    bounded(words, 0, 1_000)
}

/// A prompt of an app.
pub(super) fn prompt(words: &str) -> Result<String, String> {
    bounded(words, 1, 4_000)
}

/// An address, whose parts are looked at elsewhere.
pub(super) fn url(words: &str) -> Result<String, String> {
    bounded(words, 1, 2_048)
}

/// Words of `min` to `max` characters, without the blanks around them.
pub(super) fn bounded(words: &str, min: usize, max: usize) -> Result<String, String> {
    let words = words.trim();
    match (min..=max).contains(&words.chars().count()) {
        true => Ok(words.to_owned()),
        false => Err(format!("{min} to {max} characters")),
    }
}

/// An id that an operator chose. It stands in addresses and tables: one that breaks a line or means another folder is refused.
pub(super) fn id(words: &str) -> Result<String, String> {
    let id = bounded(words, 1, LONGEST_ID)?;
    match !is_one_line(&id) || matches!(id.as_str(), "." | "..") {
        true => Err("an id has no control characters and is neither . nor ..".to_owned()),
        false => Ok(id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_argument_has_1_to_100_characters_in_one_line() {
        assert_eq!(name(" Ada "), Ok("Ada".to_owned()));
        assert_eq!(name(&"é".repeat(100)), Ok("é".repeat(100)));
        for wrong in ["", "  ", &"a".repeat(101)] {
            assert_eq!(name(wrong), Err("1 to 100 characters".to_owned()));
        }
        for wrong in ["Ada\nBob", "Ada\u{1b}[2J", "Ada\u{2028}Bob"] {
            assert!(name(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn id_argument_has_no_spaces_or_path_parts() {
        assert_eq!(id("ada@example.org"), Ok("ada@example.org".to_owned()));
        assert_eq!(id("..."), Ok("...".to_owned()));
        for wrong in ["", " ", ".", "..", "a\tb", "a\u{1b}b", "a\nb", &"a".repeat(129)] {
            assert!(id(wrong).is_err(), "{wrong:?}");
        }
    }
}
