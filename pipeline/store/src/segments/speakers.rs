//! Numbers for speakers' labels (DECISIONS §1, "speaker label that is not SPEAKER_n").

use std::collections::HashMap;

use records::Segment;

/// The numbers that a conversation has given out.
pub(crate) struct Speakers {
    numbers: HashMap<String, i32>,
    /// Below every number before one is given out.
    highest: i32,
}

impl Speakers {
    /// Takes up what is stored: labels with their numbers.
    pub(super) fn stored(labels: impl IntoIterator<Item = (Option<String>, i32)>) -> Self {
        let mut speakers = Self { numbers: HashMap::new(), highest: -1 };
        for (label, number) in labels {
            speakers.highest = speakers.highest.max(number);
            if let Some(label) = label {
                speakers.numbers.entry(label).or_insert(number);
            }
        }
        speakers
    }

    /// Numbers the segments of one create or append. A number that was sent stands; without one `SPEAKER_n` is n, and
    /// another label keeps its number or gets the one after the highest, in the order of appearance. A segment with
    /// neither is left as it is.
    pub(crate) fn number(&mut self, segments: &mut [Segment]) {
        for segment in segments.iter_mut() {
            let sent = segment.speaker_id;
            segment.speaker_id = sent.or_else(|| segment.speaker.as_deref().and_then(numbered));
            self.highest = segment.speaker_id.map_or(self.highest, |number| self.highest.max(number));
            if let (Some(number), Some(label)) = (sent, &segment.speaker) {
                self.numbers.entry(label.clone()).or_insert(number);
            }
        }
        for segment in segments.iter_mut().filter(|segment| segment.speaker_id.is_none()) {
            segment.speaker_id = segment.speaker.as_deref().map(|label| self.of(label));
        }
    }

    /// At the end of the numbers those who are left over share the last one.
    fn of(&mut self, label: &str) -> i32 {
        if let Some(number) = self.numbers.get(label) {
            return *number;
        }
        self.highest = self.highest.saturating_add(1);
        self.numbers.insert(label.to_owned(), self.highest);
        self.highest
    }
}

/// The n of `SPEAKER_n`.
fn numbered(label: &str) -> Option<i32> {
    let digits = label.strip_prefix("SPEAKER_")?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said_by(label: &str) -> Segment {
        Segment {
            id: None,
            text: "Hello.".to_owned(),
            speaker: Some(label.to_owned()),
            speaker_id: None,
            is_user: false,
            person_id: None,
            start: 0.0,
            end: 1.0,
        }
    }

    #[test]
    fn speaker_numbers_continue_after_the_highest() {
        let mut speakers = Speakers::stored([(Some("Anna".to_owned()), 2), (None, 1)]);
        let mut segments = ["Tom", "SPEAKER_05", "Anna", "Mia", "Tom"].map(said_by);
        speakers.number(&mut segments);
        let numbers: Vec<_> = segments.iter().map(|segment| segment.speaker_id).collect();
        assert_eq!(numbers, [6, 5, 2, 7, 6].map(Some));
    }

    fn numbers(sent: &[(&str, Option<i32>)]) -> Vec<Option<i32>> {
        let sent = sent.iter().map(|(label, number)| Segment { speaker_id: *number, ..said_by(label) });
        let mut segments: Vec<_> = sent.collect();
        Speakers::stored([]).number(&mut segments);
        segments.iter().map(|segment| segment.speaker_id).collect()
    }

    #[test]
    fn speaker_numbers_that_were_sent_are_kept() {
        let sent = [("SPEAKER_00", Some(3)), ("Ann", Some(9)), ("Zoe", Some(4)), ("SPEAKER_01", Some(8))];
        assert_eq!(numbers(&sent), sent.map(|(_, number)| number));
        assert_eq!(numbers(&[("Tom", None), ("Ann", None), ("Ann", Some(9))]), [10, 9, 9].map(Some));
        assert_eq!(numbers(&[("Ann", None), ("SPEAKER_03", None), ("Tom", None)]), [4, 3, 5].map(Some));
    }

    #[test]
    fn speaker_number_saturates() {
        let last = i32::MAX;
        assert_eq!(numbers(&[("Ann", Some(last)), ("Tom", None), ("Zoe", None)]), [last; 3].map(Some));
        assert_eq!(
            numbers(&[("Ann", Some(last - 1)), ("Tom", None), ("Tom", None)])[1..],
            [last; 2].map(Some)
        );
    }

    #[test]
    fn speaker_label_that_only_looks_numbered_is_a_name() {
        assert_eq!(numbered("SPEAKER_03"), Some(3));
        assert_eq!(numbered("SPEAKER_+3"), None);
        assert_eq!(numbered("SPEAKER_"), None);
    }
}
