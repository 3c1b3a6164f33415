//! How text stands on a terminal: colours, lines that break between words, and the heading of the options that every command
//! takes.

use anstyle::{AnsiColor, Reset, Style};
use textwrap::Options;

/// The heading of what every command takes: it stands below a command's own flags.
pub(crate) const GLOBAL: &str = "Global options";

/// Red, where colours are wanted.
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
/// Yellow, where colours are wanted.
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
/// Back to plain.
pub(crate) const PLAIN: Reset = Reset;

/// A text behind a label in lines of at most `width`, but for words that are longer; lines of the text stay lines.
pub(crate) fn hanging(label: &str, text: &str, width: usize) -> String {
    let below = " ".repeat(textwrap::core::display_width(label));
    let options = Options::new(width)
        .initial_indent(label)
        .subsequent_indent(&below)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(text, options).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_wraps_long_values_without_breaking_words() {
        let id = "fj_0123456789abcdef0123456789abcdef";
        let shown = hanging("why  ", &format!("it waits for {id} and then runs"), 30);
        assert_eq!(shown, format!("why  it waits for\n     {id}\n     and then runs"));
    }
}
