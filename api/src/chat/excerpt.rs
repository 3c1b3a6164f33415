//! Transcripts as text, and bounded.

use store::ConversationView;

use crate::shapes;

/// The transcript of a conversation, a line per segment, of at most `most` characters; whether it is all of it.
pub(super) fn transcript(view: &ConversationView, most: usize) -> (String, bool) {
    let mut text = String::new();
    let mut left = most;
    for (speaker, words) in shapes::said(view) {
        let line = match speaker {
            speaker if speaker.is_empty() => words.to_owned(),
            speaker => format!("{speaker}: {words}"),
        };
        let length = line.chars().count() + 1;
        if length > left {
            text.extend(line.chars().take(left));
            return (text, false);
        }
        left -= length;
        text.push_str(&line);
        text.push('\n');
    }
    (text, true)
}
