//! Numbers for speakers' labels (DECISIONS §1, "speaker label that is not SPEAKER_n").

use std::collections::HashMap;

use records::Segment;

/// The numbers that a conversation has given out.
#[derive(Default)]
pub(super) struct Speakers {
    numbers: HashMap<String, i32>,
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

    /// Numbers the segments of one append: `SPEAKER_n` is n, another label keeps its number or gets the one
    /// after the highest, in the order of appearance. A segment without a label is left as it is.
    pub(super) fn number(&mut self, segments: &mut [Segment]) {
        let named = segments.iter().filter_map(|segment| segment.speaker.as_deref().and_then(numbered));
        self.highest = named.fold(self.highest, i32::max);
        for segment in segments {
            let Some(label) = &segment.speaker else { continue };
            segment.speaker_id = Some(numbered(label).unwrap_or_else(|| self.of(label)));
        }
    }

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
    fn labels_continue_after_the_highest_number_in_the_order_of_appearance() {
        let mut speakers = Speakers::stored([(Some("Anna".to_owned()), 2), (None, 1)]);
        let mut segments = ["Tom", "SPEAKER_05", "Anna", "Mia", "Tom"].map(said_by);
        speakers.number(&mut segments);
        let numbers: Vec<_> = segments.iter().map(|segment| segment.speaker_id).collect();
        assert_eq!(numbers, [6, 5, 2, 7, 6].map(Some));
    }

    #[test]
    fn a_label_that_only_looks_numbered_is_a_name() {
        assert_eq!(numbered("SPEAKER_03"), Some(3));
        assert_eq!(numbered("SPEAKER_+3"), None);
        assert_eq!(numbered("SPEAKER_"), None);
    }
}
