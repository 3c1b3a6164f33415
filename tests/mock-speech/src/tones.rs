//! Tones instead of speech: voice activity detection takes those from 200 to 440 Hz for it.

use std::f64::consts::TAU;

/// Samples per second.
pub const RATE: usize = 16_000;
/// Quieter than this is silence.
const QUIET: u16 = 500;

/// A tone of so many seconds.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "seconds of audio"
)]
pub fn tone(hertz: u32, seconds: f64) -> Vec<i16> {
    let at = |n: usize| (TAU * f64::from(hertz) * n as f64 / RATE as f64).sin() * 10_000.0;
    (0..(seconds * RATE as f64) as usize).map(|n| at(n) as i16).collect()
}

/// Silence of so many seconds.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "seconds of audio"
)]
pub fn silence(seconds: f64) -> Vec<i16> {
    vec![0; (seconds * RATE as f64) as usize]
}

/// The tone in `samples`, to 10 Hz; `None` when most of it is silence.
#[must_use]
pub fn hertz(samples: &[i16]) -> Option<u32> {
    let first = samples.iter().position(|sample| sample.unsigned_abs() > QUIET)?;
    let last = samples.iter().rposition(|sample| sample.unsigned_abs() > QUIET)?;
    let loud = samples.get(first..=last)?;
    if loud.len() * 2 < samples.len() {
        return None;
    }
    let crossings =
        loud.windows(2).filter(|pair| matches!(pair, [one, other] if (*one < 0) != (*other < 0))).count();
    let hertz = crossings * RATE / (2 * loud.len().max(1));
    u32::try_from((hertz + 5) / 10 * 10).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tone_is_recognized() {
        for expected in [200, 250, 300, 370, 440] {
            assert_eq!(hertz(&tone(expected, 0.5)), Some(expected));
            assert_eq!(hertz(&[silence(0.2), tone(expected, 0.5), silence(0.1)].concat()), Some(expected));
        }
        assert_eq!(hertz(&silence(1.0)), None);
        assert_eq!(hertz(&[]), None);
    }
}
