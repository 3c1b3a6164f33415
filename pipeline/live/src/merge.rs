//! Which utterances become one segment.

/// Utterances of one speaker grow one segment while less than this many seconds lie between them.
const CLOSE_SECONDS: f64 = 30.0;
/// A segment grows up to this many characters.
const LONGEST: usize = 1_000;

/// Something that was said, as the recognizer or the client gave it; never changed afterwards.
#[derive(Clone, Debug, PartialEq)]
pub struct Utterance {
    /// The id of the segment that it becomes, if it becomes one of its own.
    pub id: String,
    /// The id is the client's own: the segment is stored under it and never grows by another utterance.
    pub own_id: bool,
    /// What was said.
    pub text: String,
    /// The speaker's label, for example `SPEAKER_00`.
    pub speaker: String,
    /// Said by the user of the session.
    pub is_user: bool,
    /// One of the user's people.
    pub person_id: Option<String>,
    /// Seconds. On their way through a session: since the session began, and so below zero for what was said before.
    pub start: f64,
    /// Seconds; never before `start`.
    pub end: f64,
    /// Who recognized it.
    pub provider: Option<String>,
}

/// The segments that `said` makes behind the segment `last`. If the first of them has the id of `last`, that one has
/// grown. Of two utterances with one id of the client's own, the later one counts.
pub fn merge(last: Option<&Utterance>, said: &[Utterance]) -> Vec<Utterance> {
    let mut segments: Vec<Utterance> = Vec::new();
    for next in said {
        if let Some(same) = segments.iter_mut().find(|segment| next.own_id && segment.id == next.id) {
            *same = next.clone();
            continue;
        }
        match segments.last_mut() {
            Some(open) if grows(open, next) => grow(open, next),
            None if last.is_some_and(|last| grows(last, next)) => {
                segments.extend(last.cloned());
                segments.iter_mut().for_each(|open| grow(open, next));
            }
            _ => segments.push(next.clone()),
        }
    }
    segments
}

fn grows(open: &Utterance, next: &Utterance) -> bool {
    let length = open.text.chars().count() + 1 + next.text.chars().count();
    !open.own_id
        && !next.own_id
        && open.speaker == next.speaker
        && open.is_user == next.is_user
        && open.person_id == next.person_id
        && next.start - open.end < CLOSE_SECONDS
        && length <= LONGEST
}

fn grow(open: &mut Utterance, next: &Utterance) {
    open.text.push(' ');
    open.text.push_str(&next.text);
    open.end = open.end.max(next.end);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(id: &str, text: &str, start: f64) -> Utterance {
        Utterance {
            id: id.to_owned(),
            own_id: false,
            text: text.to_owned(),
            speaker: "SPEAKER_00".to_owned(),
            is_user: false,
            person_id: None,
            start,
            end: start + 1.0,
            provider: None,
        }
    }

    fn texts(segments: &[Utterance]) -> Vec<(&str, &str)> {
        segments.iter().map(|segment| (segment.id.as_str(), segment.text.as_str())).collect()
    }

    #[test]
    fn live_merge_grows_a_segment_until_a_long_pause() {
        let last = said("a", "One.", 0.0);
        let grown = merge(Some(&last), &[said("b", "Two.", 3.0), said("c", "Three.", 34.5)]);
        assert_eq!(texts(&grown), [("a", "One. Two."), ("c", "Three.")]);
        assert_eq!((grown[0].start, grown[0].end), (0.0, 4.0));
    }

    #[test]
    fn live_merge_starts_a_segment_for_another_speaker_or_when_full() {
        let other = Utterance { speaker: "SPEAKER_01".to_owned(), ..said("b", "Two.", 1.0) };
        assert_eq!(merge(None, &[said("a", "One.", 0.0), other, said("c", "Three.", 2.0)]).len(), 3);
        let full = said("a", &"é".repeat(996), 0.0);
        assert_eq!(merge(Some(&full), &[said("b", "Two.", 1.0)]), [said("b", "Two.", 1.0)]);
        assert_eq!(merge(Some(&full), &[said("b", "Tw.", 1.0)])[0].id, "a", "1,000 characters fit");
    }

    #[test]
    fn live_merge_replaces_the_text_of_a_client_segment() {
        let own = |id: &str, text: &str| Utterance { own_id: true, ..said(id, text, 0.0) };
        let merged = merge(
            Some(&said("a", "One.", 0.0)),
            &[own("x", "Hel"), said("b", "Two.", 1.0), own("x", "Hello")],
        );
        assert_eq!(texts(&merged), [("x", "Hello"), ("b", "Two.")]);
    }
}
