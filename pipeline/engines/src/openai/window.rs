//! How much a model can read at once, in tokens that are estimated and not counted: every model counts in a
//! way of its own, and an estimate that is a little too high is harmless.

use std::ops::Range;

use upstream::Learnt;

/// What an answer may always have, however small the context is.
const LEAST_OUTPUT: u32 = 256;
/// Room for a long answer and for the hidden thoughts that some models count as output.
const MOST_OUTPUT: u32 = 8_192;
/// The least that a part of a talk may have; below that nothing is understood.
const LEAST_PART: u32 = 256;
/// No server that is of any use reads less at once: one that complains then means something else.
const LEAST_CONTEXT: u32 = 2_048;
/// How much of the part before a part begins with, so that nothing is lost between two.
const OVERLAP: u32 = 200;

/// The context of a server's model; shrinks for an hour when the server says that it was too much.
pub(super) struct Window(Learnt<u32>);

impl Window {
    pub(super) fn new(context_tokens: u32) -> Self {
        Self(Learnt::new(context_tokens))
    }

    /// The most that an answer may have: a quarter of `context`.
    pub(super) fn output(context: u32) -> u32 {
        (context / 4).clamp(LEAST_OUTPUT, MOST_OUTPUT)
    }

    /// What is left of `context` for a part of a talk beside `rest`, the tokens of everything else in the prompt.
    pub(super) fn part(context: u32, rest: u32) -> u32 {
        Self::space(context, rest).max(LEAST_PART)
    }

    fn space(context: u32, rest: u32) -> u32 {
        context.saturating_sub(Self::output(context)).saturating_sub(rest)
    }

    /// The server said that a prompt with `rest` was longer than its context, which was taken to be `context` when the prompt was
    /// made: from now on, a third less. Of many that were made with the same context, the first one says enough. One that was
    /// too long because `rest` left no room for a part says nothing.
    pub(super) fn shrink(&self, context: u32, rest: u32) {
        if Self::space(context, rest) < LEAST_PART {
            return;
        }
        let less = (context / 3 * 2).max(LEAST_CONTEXT.min(context));
        if less < context && self.context() == context && self.0.note(less) {
            tracing::warn!(context_tokens = less, "the model server's context is smaller than was set");
        }
    }

    /// What the context is taken to be.
    pub(super) fn context(&self) -> u32 {
        self.0.known()
    }
}

/// About as many tokens as models count in `text`: three and a half letters of ASCII each, and one for any
/// other character.
pub(super) fn tokens(text: &str) -> u32 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let other = text.chars().filter(|c| !c.is_ascii()).count();
    u32::try_from(ascii * 2 / 7 + other + 1).unwrap_or(u32::MAX)
}

/// Divides `lines` into parts of at most `most` tokens, each beginning with a little of the one before. A
/// line that is longer than that is a part of its own.
pub(super) fn parts(lines: &[String], most: u32) -> Vec<Range<usize>> {
    // What the lines before each come to: a talk may have a hundred thousand of them.
    let sums = lines.iter().scan(0, |sum, line| {
        *sum += u64::from(tokens(line));
        Some(*sum)
    });
    let sums: Vec<u64> = std::iter::once(0).chain(sums).collect();
    let before = |line: usize| sums.get(line).copied().unwrap_or_default();
    let size = |range: Range<usize>| before(range.end).saturating_sub(before(range.start));
    let most = u64::from(most);
    let mut parts = Vec::new();
    let mut start = 0;
    while start < lines.len() {
        let mut end = start + 1;
        while end < lines.len() && size(start..end + 1) <= most {
            end += 1;
        }
        parts.push(start..end);
        if end == lines.len() {
            break;
        }
        let overlap = u64::from(OVERLAP).min(most / 8);
        let mut next = end;
        while next > start + 1 && size(next - 1..end) <= overlap {
            next -= 1;
        }
        start = next;
    }
    parts
}

/// The beginning of `text`: at most `bytes` bytes, in whole characters.
pub(super) fn beginning(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// Cuts `text` at gaps into pieces of at most `most` characters; where there is no gap, anywhere.
pub(super) fn pieces(text: &str, most: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text.trim();
    while let Some((end, _)) = rest.char_indices().nth(most.max(1)) {
        let gap = rest.get(..end).and_then(|head| head.rfind(char::is_whitespace)).filter(|gap| *gap > 0);
        let Some((piece, after)) = rest.split_at_checked(gap.unwrap_or(end)) else { break };
        pieces.push(piece.trim_end());
        rest = after.trim_start();
    }
    pieces.push(rest);
    pieces
}

#[cfg(test)]
mod tests {
    use tokio::time::Duration;

    use super::*;

    fn lines(number: usize) -> Vec<String> {
        (0..number).map(|line| format!("line {line:03} {}", "word ".repeat(20))).collect()
    }

    #[test]
    fn parts_cover_every_line_in_order_and_overlap_a_little() {
        let lines = lines(100);
        let parts = parts(&lines, 400);
        assert_eq!((parts[0].start, parts[parts.len() - 1].end), (0, 100));
        for (one, next) in parts.iter().zip(&parts[1..]) {
            assert!(next.start < one.end && next.start > one.start && next.end > one.end, "{one:?} {next:?}");
        }
        let size = |part: &Range<usize>| lines[part.clone()].iter().map(|line| tokens(line)).sum::<u32>();
        assert!(parts.iter().all(|part| size(part) <= 400));
    }

    #[test]
    fn what_fits_is_one_part_and_nothing_is_none() {
        assert_eq!(parts(&lines(3), 1_000).first(), Some(&(0..3)));
        assert!(parts(&[], 1_000).is_empty());
        assert_eq!(parts(&lines(3), 1), [0..1, 1..2, 2..3], "a long line is a part of its own");
    }

    #[test]
    fn a_long_line_falls_into_pieces_at_gaps() {
        assert_eq!(pieces("one two three", 8), ["one two", "three"]);
        assert_eq!(pieces("abcdef", 4), ["abcd", "ef"]);
        assert_eq!(pieces("äöü äöü", 100), ["äöü äöü"]);
        let text = "word ".repeat(1_000);
        assert_eq!(pieces(&text, 50).join(" "), text.trim());
    }

    #[test]
    fn a_context_is_shared_by_question_and_answer() {
        let window = Window::new(16_384);
        assert_eq!((Window::output(16_384), Window::part(16_384, 1_000)), (4_096, 11_288));
        for _ in 0..3 {
            window.shrink(16_384, 1_000);
        }
        assert_eq!(window.context(), 10_922, "three that were made with one context shrink it once");
        window.shrink(10_922, 8_000);
        assert_eq!(window.context(), 10_922, "that prompt was longer than what was left of the context");
        (0..20).for_each(|_| window.shrink(window.context(), 1_000));
        assert_eq!(window.context(), LEAST_CONTEXT);
        let small = Window::new(1_000);
        small.shrink(1_000, 100);
        assert_eq!(small.context(), 1_000, "what was set is believed");
        assert_eq!(Window::part(100, 5_000), LEAST_PART);
        assert_eq!(Window::output(1_000_000), MOST_OUTPUT);
    }

    /// An operator who puts a larger model in the place of one with a small context has the larger context without a restart.
    #[tokio::test(start_paused = true)]
    async fn a_smaller_context_is_believed_for_an_hour() {
        let window = Window::new(16_384);
        window.shrink(16_384, 1_000);
        tokio::time::advance(Duration::from_secs(3_599)).await;
        assert_eq!(window.context(), 10_922);
        tokio::time::advance(Duration::from_secs(1)).await;
        window.shrink(10_922, 1_000);
        assert_eq!(window.context(), 16_384, "what was made before says nothing of what is asked now");
    }

    #[test]
    fn tokens_are_guessed_rather_high() {
        assert!((25..40).contains(&tokens("I will send the report to Maria by Tuesday at noon, and then call Tom about the budget of the trip.")));
        assert_eq!(tokens("明日送ります"), 7);
    }
}
