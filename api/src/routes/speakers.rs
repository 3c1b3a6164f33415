//! Speakers' numbers (DECISIONS §1 and §3, "speaker").

use records::Segment;

/// The number inside `SPEAKER_n`; `None` for any other label, and for a number that is too large to be one.
pub(super) fn number_in(label: &str) -> Option<i32> {
    let digits = label.strip_prefix("SPEAKER_")?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

/// Gives every other label a number, by first appearance, after the highest that is taken.
pub(super) fn number_others(segments: &mut [Segment]) {
    let highest = segments.iter().filter_map(|segment| segment.speaker_id).max();
    let mut next = highest.map_or(0, |number| number.saturating_add(1));
    let mut labels: Vec<(String, i32)> = Vec::new();
    for segment in segments.iter_mut().filter(|segment| segment.speaker_id.is_none()) {
        let label = segment.speaker.clone().unwrap_or_default();
        let known = labels.iter().find(|(known, _)| *known == label).map(|(_, number)| *number);
        segment.speaker_id = Some(known.unwrap_or_else(|| {
            labels.push((label, next));
            next = next.saturating_add(1);
            next - 1
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(label: &str) -> Segment {
        Segment {
            id: None,
            text: "hello".to_owned(),
            speaker: Some(label.to_owned()),
            speaker_id: number_in(label),
            is_user: false,
            person_id: None,
            start: 0.0,
            end: 1.0,
        }
    }

    #[test]
    fn other_labels_are_numbered_by_first_appearance_after_the_highest_speaker() {
        let mut segments = ["Ann", "SPEAKER_03", "Tom", "Ann", "SPEAKER_00"].map(said);
        number_others(&mut segments);
        let numbers = segments.map(|segment| segment.speaker_id);
        assert_eq!(numbers, [Some(4), Some(3), Some(5), Some(4), Some(0)]);
    }

    #[test]
    fn a_label_without_a_number_is_no_speaker_n() {
        assert_eq!(number_in("SPEAKER_"), None);
        assert_eq!(number_in("SPEAKER_+1"), None);
        assert_eq!(number_in("SPEAKER_99999999999"), None);
        assert_eq!(number_in("SPEAKER_07"), Some(7));
    }
}
