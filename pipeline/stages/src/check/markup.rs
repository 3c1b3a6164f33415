//! Plain text without tags, links and invisible characters. A sanitizer such as `ammonia` makes safe HTML; the result here
//! is text that is shown by programs of every kind, in which nothing may stand that any of them takes for markup.
//!
//! `[words](target)` is a link wherever it stands, so `a[i](x)` becomes `ai`. A `<` before a letter, `/`, `!` or `?`
//! begins a tag: "3 < 5" and "I <3 you" stay, `a<b` becomes `ab`.

use super::invisible::without_invisible;

/// Text that is still changing after so many passes was built to outlast them.
const PASSES: usize = 6;

/// One line of plain text, words apart by one space. Cleaning it again changes nothing, and any beginning of it is as
/// clean. The time it takes grows with the length alone.
pub(super) fn one_line(raw: &str) -> String {
    let mut text = pass(raw);
    for _ in 0..PASSES {
        // What is dropped may leave markup behind: `<<b>script>`.
        let again = pass(&text);
        if again == text {
            return text;
        }
        text = again;
    }
    pass(&text.replace(['<', '[', ']'], " "))
}

fn pass(text: &str) -> String {
    let plain = without_links(&without_tags(&without_invisible(text)));
    plain.split_whitespace().filter(|word| !is_link(word)).collect::<Vec<_>>().join(" ")
}

/// Whether a word is an address, or what programs make a link of.
fn is_link(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let has_address = ["://", "www.", "javascript:", "vbscript:"].iter().any(|sign| word.contains(sign));
    // "The data: five rows" names no address, `data:text/html` does.
    let has_data = word.split_once("data:").is_some_and(|(_, data)| !data.is_empty());
    let bare = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    let names_host = !bare.is_empty() && word.strip_suffix(bare).is_some_and(|lead| lead.ends_with("//"));
    has_address || has_data || names_host
}

/// Drops the brackets and the target of `[words](target)` and `![words](target)`, and the brackets of `[words]:`, which
/// would define the target of a link that stands elsewhere.
fn without_links(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::with_capacity(text.len());
    // Once no `)` follows, none is looked for again.
    let mut closes = true;
    while let Some((before, after)) = split_link(rest) {
        match before.rsplit_once('[') {
            Some((lead, words)) => {
                plain.push_str(lead.strip_suffix('!').unwrap_or(lead));
                plain.push_str(words);
            }
            None => plain.push_str(before),
        }
        let target = after.strip_prefix('(').filter(|_| closes).map(|target| target.split_once(')'));
        closes &= target != Some(None);
        rest = target.flatten().map_or(after, |(_, behind)| behind);
    }
    plain.push_str(rest);
    plain
}

/// `text` before and after the first `]` that `(` or `:` follows.
fn split_link(text: &str) -> Option<(&str, &str)> {
    let ends =
        |(at, _): &(usize, &str)| text.get(at + 1..).is_some_and(|after| after.starts_with(['(', ':']));
    let (at, _) = text.match_indices(']').find(ends)?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// Drops tags up to their `>`; of one that never ends, its `<`.
fn without_tags(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::with_capacity(text.len());
    // Once no `>` follows, none is looked for again.
    let mut closes = true;
    while let Some((before, after)) = rest.split_once('<') {
        plain.push_str(before);
        rest = after;
        if !after.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')) {
            plain.push('<');
        } else if closes {
            match after.split_once('>') {
                Some((_, behind)) => rest = behind,
                None => closes = false,
            }
        }
    }
    plain.push_str(rest);
    plain
}
