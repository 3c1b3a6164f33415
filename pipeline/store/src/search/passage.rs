//! Dividing what was said into passages: lines stay whole where they can.

/// The characters that a passage holds, about.
const LENGTH: usize = 1_000;

/// The passages of a conversation's lines.
pub(super) fn passages<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut passages = Vec::new();
    let mut passage = String::new();
    let mut length = 0;
    for line in lines {
        for piece in pieces(line.trim()) {
            let more = piece.chars().count();
            if length > 0 && length + more > LENGTH {
                passages.push(std::mem::take(&mut passage));
                length = 0;
            }
            if length > 0 {
                passage.push('\n');
            }
            passage.push_str(piece);
            length += more + 1;
        }
    }
    if !passage.is_empty() {
        passages.push(passage);
    }
    passages
}

/// A line, or, where it is longer than a passage, pieces of it that end between words.
fn pieces(line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while let Some((most, _)) = rest.char_indices().nth(LENGTH) {
        let (head, _) = rest.split_at(most);
        let at = head.rfind(char::is_whitespace).filter(|at| *at > 0).unwrap_or(most);
        let (piece, next) = rest.split_at(at);
        pieces.push(piece.trim_end());
        rest = next.trim_start();
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_passages_hold_every_word_once_within_the_limit() {
        let long = "word ".repeat(700);
        let lines = ["short", long.as_str(), "", "  last  "];
        let passages = passages(lines);
        assert!(passages.iter().all(|passage| passage.chars().count() <= LENGTH + 1), "{passages:?}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let all: Vec<String> = passages.iter().flat_map(|passage| words(passage)).collect();
        assert_eq!(all, words(&lines.join(" ")));
        assert_eq!(passages.len(), 5);
    }

    #[test]
    fn search_passage_cuts_a_word_longer_than_itself() {
        let letters = "ä".repeat(2_500);
        let passages = passages([letters.as_str()]);
        assert_eq!(passages.concat(), letters);
        assert_eq!(passages.len(), 3);
    }
}
