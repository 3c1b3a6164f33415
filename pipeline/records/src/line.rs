//! Names are of one line.

/// Whether a text is of one line, as every name is: names stand in lists, notifications, prompts and tables, where a second line
/// would pass for another person's words.
pub fn is_one_line(text: &str) -> bool {
    !text.chars().any(|letter| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}'))
}
