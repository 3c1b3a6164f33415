//! Times of a session as times of its conversation, for the ledger and for the client.

use crate::{Shown, Utterance};

/// What the client is shown of segments, whose times are session seconds.
pub(crate) fn show(segments: &[Utterance], numbers: &[Option<i32>], origin: f64) -> Vec<Shown> {
    let numbers = numbers.iter().copied().chain(std::iter::repeat(None));
    let shown = segments.iter().zip(numbers).map(|(segment, speaker_id)| Shown {
        id: segment.id.clone(),
        text: segment.text.clone(),
        speaker: segment.speaker.clone(),
        speaker_id,
        is_user: segment.is_user,
        person_id: segment.person_id.clone(),
        start: since(segment.start, origin),
        end: since(segment.end, origin),
        stt_provider: segment.provider.clone(),
    });
    shown.collect()
}

/// When the first of them began.
pub(crate) fn origin_of(segments: &[Utterance]) -> f64 {
    segments.iter().map(|segment| segment.start).fold(f64::INFINITY, f64::min)
}

/// Seconds since `origin`, to the millisecond; what was said before it is at its beginning.
pub(crate) fn since(second: f64, origin: f64) -> f64 {
    ((second - origin).max(0.0) * 1e3).round() / 1e3
}
