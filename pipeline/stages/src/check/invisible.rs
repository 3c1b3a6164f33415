//! Invisible characters: text can be hidden in them, and sent on to a later model.

/// `text` without them; every kind of white space becomes a space. Whether a character stays depends on those before
/// it alone, so that the beginning of a clean text is clean.
pub(super) fn without_invisible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut before = None;
    for c in text.chars() {
        // The blank of Braille is written as a letter.
        let c = if c.is_whitespace() || c == '\u{2800}' { ' ' } else { c };
        if is_shown(c, before) {
            shown.push(c);
            before = Some(c);
        }
    }
    shown
}

/// Whether `c` is seen after `before`, or changes how that is seen.
fn is_shown(c: char, before: Option<char>) -> bool {
    match c {
        // Persian and the scripts of India are written with joiners, and emoji are put together by one.
        '\u{200c}' | '\u{200d}' => before.is_some_and(joins),
        '\u{fe0f}' => before.is_some_and(is_emoji_base),
        _ => !c.is_control() && !is_ignorable(c) && !is_meaningless(c),
    }
}

/// Whether a joiner after `c` means something: never after ASCII, and never after a joiner.
fn joins(c: char) -> bool {
    let is_letter_or_mark = c.is_alphabetic() || is_virama_or_mark(c);
    let is_emoji = c == '\u{fe0f}' || ('\u{1f3fb}'..='\u{1f3ff}').contains(&c) || is_emoji_base(c);
    !c.is_ascii() && (is_letter_or_mark || is_emoji)
}

/// The signs of Indic scripts that kill a vowel are no letters; joiners follow them most of all.
fn is_virama_or_mark(c: char) -> bool {
    matches!(c, '\u{0900}'..='\u{0dff}' | '\u{0f00}'..='\u{0fff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17d3}')
}

fn is_emoji_base(c: char) -> bool {
    let is_emoji = |text: &str| emojis::get(text).is_some();
    !c.is_ascii() && (is_emoji(c.encode_utf8(&mut [0; 4])) || is_emoji(&format!("{c}\u{fe0f}")))
}

/// What Unicode calls default ignorable, and other controls of layout and direction.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffc}'
        | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Noncharacters, and those of private use: no two programs agree on what they show.
fn is_meaningless(c: char) -> bool {
    let is_last_of_plane = u32::from(c) & 0xfffe == 0xfffe;
    is_last_of_plane || matches!(c, '\u{fdd0}'..='\u{fdef}' | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_joiners_are_kept_in_scripts_and_emoji() {
        for text in [
            "می‌خواهم به خانه بروم",
            "क्‍ष और र्‍य",
            "ശ്രീ ന്‍",
            "👩‍🚀 👩‍❤️‍👨 🏳️‍🌈 👍🏽 ❤️ ☎️ 👨‍👩‍👧‍👦",
            "naïve café",
            "한국어 日本語 ไทย עברית",
        ] {
            assert_eq!(without_invisible(text), text);
        }
    }

    #[test]
    fn invisible_characters_are_removed() {
        let hidden = [
            "\u{0}",
            "\u{7f}",
            "\u{ad}",
            "\u{34f}",
            "\u{61c}",
            "\u{115f}",
            "\u{1160}",
            "\u{17b4}",
            "\u{180e}",
            "\u{200b}",
            "\u{200c}",
            "\u{200d}",
            "\u{200e}",
            "\u{202e}",
            "\u{2061}",
            "\u{2064}",
            "\u{2069}",
            "\u{3164}",
            "\u{e000}",
            "\u{fdd0}",
            "\u{fe00}",
            "\u{fe0e}",
            "\u{fe0f}",
            "\u{feff}",
            "\u{ffa0}",
            "\u{fff9}",
            "\u{fffb}",
            "\u{ffff}",
            "\u{1d173}",
            "\u{e0001}",
            "\u{e0041}",
            "\u{e0100}",
            "\u{e01ef}",
            "\u{f0000}",
            "\u{10fffd}",
        ];
        for c in hidden {
            assert_eq!(without_invisible(&format!("a{c}b{c}{c} 1{c}")), "ab 1", "{c:?}");
        }
        let message: String =
            "follow me".bytes().filter_map(|byte| char::from_u32(0xe0100 + u32::from(byte))).collect();
        assert_eq!(without_invisible(&format!("😀{message}")), "😀");
        assert_eq!(
            without_invisible("می\u{200c}\u{200d}\u{200c}خواهم"),
            "می\u{200c}خواهم",
            "one joiner at a time"
        );
        assert_eq!(without_invisible("a\u{2028}b\u{3000}c\u{2800}d"), "a b c d");
    }
}
