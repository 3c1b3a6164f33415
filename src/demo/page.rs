//! How the demo's page is set: lines fitted to the terminal, moments as people say them.

use std::io::IsTerminal;

use chrono::{DateTime, NaiveTime, Timelike};
use chrono_tz::Tz;
use textwrap::{Options, WordSeparator, WrapAlgorithm};

/// Piped output is as wide as a terminal of old; a very wide one is no pleasure to read.
const PIPED: usize = 80;
const WIDEST: usize = 110;

/// A space at which no line ends.
pub(super) const INSEPARABLE: char = '\u{a0}';

/// The demo's person lives here: due dates mean the end of a day there.
pub(super) const ZONE: Tz = Tz::Europe__Berlin;

/// The columns to be used.
pub(super) fn width() -> usize {
    match std::io::stdout().is_terminal() {
        true => textwrap::termwidth().clamp(40, WIDEST),
        false => PIPED,
    }
}

/// `text` in lines of at most `width` columns: the first one behind `mark`, the others indented as far.
pub(super) fn set(mark: &str, text: &str, width: usize) -> String {
    let indent = " ".repeat(textwrap::core::display_width(mark));
    let options = Options::new(width)
        .initial_indent(mark)
        .subsequent_indent(&indent)
        .word_separator(WordSeparator::AsciiSpace)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::fill(text, options).replace(INSEPARABLE, " ")
}

/// A moment as the demo's person says it; the last minute of a day is that day.
pub(super) fn moment(rfc3339: &str) -> String {
    let Ok(at) = DateTime::parse_from_rfc3339(rfc3339) else { return rfc3339.to_owned() };
    let at = at.with_timezone(&ZONE);
    let day = at.format("%a %-d %b");
    match NaiveTime::from_hms_opt(23, 59, 0) {
        Some(end) if at.time().with_second(0) == Some(end) => day.to_string(),
        _ => format!("{day}, {}", at.format("%H:%M")),
    }
}

/// The first `most` letters, cut between words.
pub(super) fn shorten(text: &str, most: usize) -> String {
    let Some((cut, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    let whole = text[..cut].rsplit_once(' ').map_or(&text[..cut], |(words, _)| words);
    format!("{}…", whole.trim_end_matches([' ', ',', '.', ';', ':']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demo_page_wraps_lines_and_measures_styles_and_emoji() {
        let text = "one two three four five six seven";
        assert_eq!(set("    ☐ ", text, 20), "    ☐ one two three\n      four five six\n      seven");
        let styled = "\u{1b}[2mone two\u{1b}[0m three";
        assert_eq!(set("", styled, 13), styled, "13 columns are enough for 13 letters");
        assert_eq!(set("", "💼 wide", 6), "💼\nwide");
    }

    #[test]
    fn demo_page_shows_end_of_day_dates_without_time() {
        assert_eq!(moment("2026-11-25T22:59:00Z"), "Wed 25 Nov");
        assert_eq!(moment("2026-12-08T13:00:00Z"), "Tue 8 Dec, 14:00");
        assert_eq!(moment("2026-07-01T21:59:00Z"), "Wed 1 Jul", "in summer, too");
        assert_eq!(moment("soon"), "soon");
    }

    #[test]
    fn a_text_is_cut_between_words() {
        assert_eq!(shorten("short", 5), "short");
        assert_eq!(shorten("It was long. Very long.", 14), "It was long…");
        assert_eq!(shorten("éééééé", 3), "ééé…");
    }
}
