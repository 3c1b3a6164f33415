//! How words are spelled where no language's rules compare them: without case, accents, vowel points and forms for the screen, and with
//! spaces around each character of scripts in which spaces do not part words. PostgreSQL takes "明日の会議です" for one word.

use records::is_unspaced;
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Pairs of characters that a query is compared by; what stands behind them is left out.
const PAIRS: usize = 40;

/// A text as its words are stored.
pub(super) fn plain(text: &str) -> String {
    if text.is_ascii() {
        // Not in the case rules of the database's locale: Turkish has another small letter for I.
        return text.to_ascii_lowercase();
    }
    let mut plain = String::with_capacity(text.len());
    for part in parts(&folded(text), is_parted) {
        match part {
            Part::Spaced(letters) => plain.push_str(letters),
            Part::Unspaced(letters) => letters.iter().for_each(|letter| {
                plain.push(' ');
                plain.push_str(letter);
            }),
        }
        plain.push(' ');
    }
    plain
}

/// What a person searches for: to be compared by a language's rules, and as it is stored.
pub(super) fn queries(words: &str) -> [String; 2] {
    // What telephones write for quotes.
    let quotes = |letter: char| matches!(letter, '\u{201c}'..='\u{201f}' | '\u{ab}' | '\u{bb}' | '\u{300c}'..='\u{300f}' | '\u{ff02}');
    let words: String = words.replace(quotes, "\"").nfc().collect();
    [query(&words, is_unspaced), query(&folded(&words), is_parted)]
}

/// Characters that stand together are searched for in pairs, each of which is a phrase: "東京都庁" finds what has all three, and then
/// what has one. Within quotes, and where they are excluded, they are one phrase.
fn query(words: &str, is_parted: fn(char) -> bool) -> String {
    let mut query = String::with_capacity(2 * words.len());
    let mut pairs = 0;
    for part in parts(words, is_parted) {
        let letters = match part {
            Part::Spaced(letters) => {
                query.push_str(letters);
                continue;
            }
            Part::Unspaced(letters) => letters,
        };
        let in_quotes = query.matches('"').count() % 2 == 1;
        if in_quotes {
            query.push_str(&format!(" {} ", letters.join(" ")));
        } else if query.ends_with('-') || letters.len() == 1 {
            query.push_str(&format!("\"{}\" ", letters.join(" ")));
        } else {
            for pair in letters.windows(2).take(PAIRS - pairs.min(PAIRS)) {
                query.push_str(&format!(" \"{}\" ", pair.join(" ")));
                pairs += 1;
            }
        }
    }
    query
}

/// Korean has spaces, and joins what other languages write as words of their own to the word before.
fn is_parted(letter: char) -> bool {
    is_unspaced(letter) || matches!(letter, '\u{ac00}'..='\u{d7a3}')
}

/// A stretch of a text.
enum Part<'t> {
    Spaced(&'t str),
    /// Characters that stand together, each with its marks.
    Unspaced(Vec<&'t str>),
}

fn parts(text: &str, is_parted: fn(char) -> bool) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let parted = is_parted(first);
        let end = rest.find(|letter: char| is_parted(letter) != parted && !is_combining_mark(letter));
        let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
        rest = behind;
        parts.push(match parted {
            true => Part::Unspaced(letters(part)),
            // A hyphen right behind a character joins: "東京-大阪" excludes nothing, and "3月-5月" has no -5.
            false if !parts.is_empty() => Part::Spaced(part.trim_start_matches('-')),
            false => Part::Spaced(part),
        });
    }
    parts
}

fn letters(text: &str) -> Vec<&str> {
    let mut letters = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let next = rest.char_indices().skip(1).find(|(_, letter)| !is_combining_mark(*letter));
        let (letter, behind) = rest.split_at(next.map_or(rest.len(), |(at, _)| at));
        letters.push(letter);
        rest = behind;
    }
    letters
}

fn folded(text: &str) -> String {
    let shown = text.nfkd().filter(|letter| !is_left_out(*letter)).flat_map(char::to_lowercase);
    let mut folded = String::with_capacity(text.len());
    for letter in shown {
        match letter {
            'ß' => folded.push_str("ss"),
            'æ' => folded.push_str("ae"),
            'œ' => folded.push_str("oe"),
            'ø' => folded.push('o'),
            'ł' => folded.push('l'),
            'đ' => folded.push('d'),
            'ı' => folded.push('i'),
            'ς' => folded.push('σ'),
            'ة' => folded.push('ه'),
            'ى' | 'ی' => folded.push('ي'),
            'ک' => folded.push('ك'),
            '\u{660}'..='\u{669}' | '\u{6f0}'..='\u{6f9}' => {
                folded.push(char::from(b'0' + (u32::from(letter) & 0xf) as u8));
            }
            // A database of the locale C takes all of them for letters.
            letter if !letter.is_ascii() && !letter.is_alphanumeric() && !is_combining_mark(letter) => {
                folded.push(' ');
            }
            letter => folded.push(letter),
        }
    }
    folded.nfc().collect()
}

/// Accents of Latin, Greek and Cyrillic, the points of Hebrew and Arabic, and what is not seen. The signs of other scripts are vowels.
fn is_left_out(letter: char) -> bool {
    matches!(letter,
        '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}'..='\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{640}'
        | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6ed}' | '\u{ad}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_spelling_is_one_for_all_forms_of_a_word() {
        for (one, other) in [
            ("Café", "cafe\u{301}"),
            ("strasse", "Straße"),
            ("İSTANBUL", "istanbul"),
            ("IŞIK", "ışık"),
            ("ΟΔΥΣΣΕΥΣ", "Οδυσσεύς"),
            ("Ngân sách", "ngan sach"),
            ("Łódź", "lodz"),
            ("مُحَمَّد", "محمد"),
            ("أحمد", "احمد"),
            ("שָׁלוֹם", "שלום"),
            ("ＡＢＣ１２３", "abc123"),
            ("ﾃﾞｰﾀ", "データ"),
            ("\u{1112}\u{116c}의", "회의"),
            ("٢٠٢٦", "2026"),
            ("می\u{200c}خواهم", "میخواهم"),
            ("„Größe“ 🙂", "grosse"),
        ] {
            assert!(plain(one).split_whitespace().eq(plain(other).split_whitespace()), "{one} / {other}");
        }
        assert_ne!(plain("हिन्दी"), plain("हनद"), "vowels of India");
        assert_ne!(plain("が"), plain("か"));
    }

    #[test]
    fn search_stores_scripts_without_spaces_by_characters() {
        assert_eq!(plain("明日の会議 API。"), " 明 日 の 会 議  api  ");
        assert_eq!(plain("ที่นี่"), " ที่ นี่ ");
        assert_eq!(plain("회의를 3시"), " 회 의 를  3  시 ");
    }

    #[test]
    fn search_query_asks_for_pairs_and_within_quotes_for_a_phrase() {
        let by_characters = |words: &str| queries(words)[1].split_whitespace().collect::<Vec<_>>().join(" ");
        for (words, expected) in [
            ("予算", "\"予 算\""),
            ("猫 東京都", "\"猫\" \"東 京\" \"京 都\""),
            ("「東京 都庁」", "\" 東 京 都 庁 \""),
            ("予算 -東京都", "\"予 算\" -\"東 京 都\""),
            ("東京-大阪", "\"東 京\" \"大 阪\""),
            ("会議-2026", "\"会 議\" 2026"),
            ("iPhone15を買う", "iphone15 \"を 買\" \"買 う\""),
            ("“budget plan”", "\"budget plan\""),
            ("회의", "\"회 의\""),
            ("-buys Café", "-buys cafe"),
        ] {
            assert_eq!(by_characters(words), expected, "{words}");
        }
        assert_eq!(queries("회의")[0], "회의", "by the language's rules as it stands");
        assert!(queries(&"語".repeat(500)).iter().all(|query| query.matches('"').count() == 2 * PAIRS));
    }
}
