//! What was said, in the shape in which stages and engines read it.

use std::collections::BTreeSet;

use chrono_tz::Tz;

use crate::{Timestamp, is_unspaced};

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
    /// The lines of plain text: one per line of it, without blank ones. A line of the form
    /// `LABEL: words`, with a label of capitals, digits and `_` (such as `SPEAKER_00`), names its speaker. So does any
    /// short label where the text is a dialogue; `me` is the user.
    pub fn lines_of_text(text: &str) -> Vec<Line> {
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let dialogue = is_dialogue(&lines);
        lines.into_iter().map(|line| text_line(line, dialogue)).collect()
    }

    /// Whether anything was said.
    pub fn has_words(&self) -> bool {
        self.lines.iter().any(|line| !line.text.trim().is_empty())
    }

    /// How many words were said, counted by white space; two characters of a script without spaces are a word.
    pub fn word_count(&self) -> usize {
        let words = self.lines.iter().flat_map(|line| line.text.split_whitespace());
        words.map(|word| unspaced(word).div_ceil(2).max(1)).sum()
    }

    /// How many characters (code points) were said, surrounding white space apart. One of a script without spaces, which
    /// says as much as a syllable or a word, counts as three.
    pub fn char_count(&self) -> usize {
        let lines = self.lines.iter().map(|line| line.text.trim());
        lines.map(|text| text.chars().count() + 2 * unspaced(text)).sum()
    }
}

fn unspaced(text: &str) -> usize {
    text.chars().filter(|letter| is_unspaced(*letter)).count()
}

/// Two lines of three begin with a label, and labels come again: "Ana: hi", "Ben: hello", "Ana: how are you?".
fn is_dialogue(lines: &[&str]) -> bool {
    let labels: Vec<&str> = lines.iter().filter_map(|line| label(line)).map(|(label, _)| label).collect();
    let different: BTreeSet<&str> = labels.iter().copied().collect();
    3 * labels.len() >= 2 * lines.len() && different.len() < labels.len()
}

/// The label of a line of chat, and what follows it. A time may stand before it.
fn label(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || "[]():.,/- ".contains(c));
    let (label, words) = line.split_once(": ").or_else(|| line.split_once('：'))?;
    let (label, words) = (label.trim(), words.trim());
    let letters = |c: char| c.is_alphanumeric() || " .'_-".contains(c);
    let named = label.starts_with(char::is_alphabetic)
        && label.chars().count() <= LONGEST_LABEL
        && label.split(' ').count() <= 3
        && label.chars().all(letters);
    let heading = HEADINGS.iter().any(|heading| label.eq_ignore_ascii_case(heading));
    (named && !heading && !words.is_empty()).then_some((label, words))
}

const LONGEST_LABEL: usize = 30;
/// What stands before a colon in notes and letters, and is no speaker.
const HEADINGS: &[&str] = &[
    "action",
    "actions",
    "agenda",
    "date",
    "decision",
    "from",
    "item",
    "note",
    "notes",
    "ps",
    "re",
    "subject",
    "task",
    "time",
    "to",
    "todo",
    "to do",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "today",
    "tomorrow",
];
/// Labels of the one who kept the chat.
const USER: &[&str] = &["me", "myself", "you", "user"];

fn text_line(line: &str, dialogue: bool) -> Line {
    let is_label = |label: &str| {
        label.contains(|c: char| c.is_ascii_uppercase())
            && label.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    if let Some((label, words)) = line.split_once(':')
        && is_label(label)
        && label.contains('_')
        && !words.trim().is_empty()
    {
        return Line { speaker: Some(label.to_owned()), is_user: false, text: words.trim().to_owned() };
    }
    match label(line).filter(|_| dialogue) {
        Some((label, words)) => Line {
            speaker: Some(label.to_owned()),
            is_user: USER.iter().any(|user| label.eq_ignore_ascii_case(user)),
            text: words.to_owned(),
        },
        None => Line { speaker: None, is_user: false, text: line.to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_lines_keep_speakers_and_drop_blank_lines() {
        let lines = Talk::lines_of_text("SPEAKER_00: Hello there.\n\nNote: call Tom\n");
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].speaker.as_deref(), Some("SPEAKER_00"));
        assert_eq!(lines[0].text, "Hello there.");
        assert_eq!(lines[1].speaker, None, "a word before a colon is not a speaker's label");
    }

    #[test]
    fn words_are_counted_where_spaces_do_not_part_them() {
        let count = |text: &str| {
            let talk = Talk {
                lines: Talk::lines_of_text(text),
                started_at: Timestamp::UNIX_EPOCH,
                time_zone: Tz::UTC,
                language: "en".to_owned(),
                user_name: None,
                background: Background::default(),
            };
            (talk.word_count(), talk.char_count())
        };
        assert_eq!(count("Buy two tickets."), (3, 16));
        assert_eq!(count("明天下午三点开会。"), (4, 25), "a stop is a character");
        assert_eq!(count("ประชุม 3 โมง"), (6, 30));
        assert_eq!(count("회의는 세 시"), (3, 7), "Korean has spaces");
    }

    #[test]
    fn text_labels_name_speakers_only_in_dialogues() {
        let speakers = |text: &str| -> Vec<Option<String>> {
            Talk::lines_of_text(text).into_iter().map(|line| line.speaker).collect()
        };
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(
            speakers("mo: anyone home?\njule: yes, why: news?\nmo: the meter man"),
            [some("mo"), some("jule"), some("mo")]
        );
        assert_eq!(
            speakers("[10:02] Speaker 1: Hi.\n[10:03] Mr. Osei: Hello.\n[10:04] Speaker 1: Bye."),
            [some("Speaker 1"), some("Mr. Osei"), some("Speaker 1")]
        );
        assert_eq!(speakers("Monday: call Tom\nTuesday: pay the rent\nMonday: swim"), [None, None, None]);
        assert_eq!(
            speakers("小明：吃了吗？\n小红：还没有。\n小明：走吧。"),
            [some("小明"), some("小红"), some("小明")]
        );
        assert!(speakers("From: Ana\nSubject: Party\nBring: a cake\nSee you").iter().all(Option::is_none));
        let chat = Talk::lines_of_text("me: hi\nlena: hey\nme: are you home?");
        assert_eq!(chat.iter().map(|line| line.is_user).collect::<Vec<_>>(), [true, false, true]);
    }
}
