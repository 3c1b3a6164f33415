//! What was said, in the shape in which stages and engines read it.

use chrono_tz::Tz;

use crate::{Segment, Timestamp};

/// One speaker's stretch of words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The name to show for the speaker; `None` in plain text without speakers.
    pub speaker: Option<String>,
    /// Said by the person whose conversation it is.
    pub is_user: bool,
    /// The words.
    pub text: String,
}

/// A whole conversation's words with what is needed to understand them: the unit that engines read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Talk {
    /// The words, in order.
    pub lines: Vec<Line>,
    /// When the talk began: the reference for phrases such as "by Friday".
    pub started_at: Timestamp,
    /// The person's time zone, in which such phrases are resolved.
    pub time_zone: Tz,
    /// A language code such as `en`.
    pub language: String,
    /// The person's own name, when known.
    pub user_name: Option<String>,
    /// What is known of it beside its words.
    pub background: Background,
}

/// What is known of a talk beside its words; none of it was said in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Background {
    /// What kind of text it is (spec, `text_source` and `text_source_spec`), such as `message: chat`.
    pub kind: Option<String>,
    /// The meeting that it was.
    pub meeting: Option<Meeting>,
    /// What is on the pictures that were taken in it, as a model described them, oldest first.
    pub pictures: Vec<String>,
}

/// A meeting as a calendar knows it (DECISIONS §4, "body of finalize").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meeting {
    /// Its title; never blank.
    pub title: Option<String>,
    /// The names of those who were to be there.
    pub participants: Vec<String>,
    /// What was noted for it beforehand; never blank.
    pub agenda: Option<String>,
}

impl Talk {
    /// The lines of a transcript. Speakers are named as the developer interface names them
    /// (DECISIONS §3): the user's own name or "User", else "Speaker N".
    pub fn lines_of_segments(segments: &[Segment], user_name: Option<&str>) -> Vec<Line> {
        segments
            .iter()
            .map(|segment| Line {
                speaker: Some(speaker_name(segment, user_name)),
                is_user: segment.is_user,
                text: segment.text.clone(),
            })
            .collect()
    }

    /// The lines of plain text: one per line of it, without blank ones. A line of the form
    /// `LABEL: words`, with a label of capitals, digits and `_` (such as `SPEAKER_00`), names its speaker.
    pub fn lines_of_text(text: &str) -> Vec<Line> {
        text.lines().map(str::trim).filter(|line| !line.is_empty()).map(text_line).collect()
    }

    /// Whether anything was said.
    pub fn has_words(&self) -> bool {
        self.lines.iter().any(|line| !line.text.trim().is_empty())
    }

    /// How many words were said, counted by white space.
    pub fn word_count(&self) -> usize {
        self.lines.iter().map(|line| line.text.split_whitespace().count()).sum()
    }

    /// How many characters (code points) were said, surrounding white space apart.
    pub fn char_count(&self) -> usize {
        self.lines.iter().map(|line| line.text.trim().chars().count()).sum()
    }
}

fn speaker_name(segment: &Segment, user_name: Option<&str>) -> String {
    match (segment.is_user, segment.speaker_id) {
        (true, _) => user_name.unwrap_or("User").to_owned(),
        (false, Some(number)) => format!("Speaker {number}"),
        (false, None) => "Speaker".to_owned(),
    }
}

fn text_line(line: &str) -> Line {
    let is_label = |label: &str| {
        label.contains(|c: char| c.is_ascii_uppercase())
            && label.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    match line.split_once(':') {
        Some((label, words)) if is_label(label) && label.contains('_') && !words.trim().is_empty() => {
            Line { speaker: Some(label.to_owned()), is_user: false, text: words.trim().to_owned() }
        }
        _ => Line { speaker: None, is_user: false, text: line.to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_keeps_its_speakers_and_loses_blank_lines() {
        let lines = Talk::lines_of_text("SPEAKER_00: Hello there.\n\nNote: call Tom\n");
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].speaker.as_deref(), Some("SPEAKER_00"));
        assert_eq!(lines[0].text, "Hello there.");
        assert_eq!(lines[1].speaker, None, "a word before a colon is not a speaker's label");
    }
}
