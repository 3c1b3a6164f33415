//! Opus packets (RFC 6716), decoded to 16 kHz whatever rate they were made from.

use std::panic::{AssertUnwindSafe, catch_unwind};

use opus_rs::OpusDecoder;

use crate::RATE;

/// 120 ms, the longest packet.
const MAX_SAMPLES: usize = 1_920;

pub(super) struct Opus {
    /// Made for the first packet: 170 KiB that a session without audio does not need.
    decoder: Option<OpusDecoder>,
    channels: usize,
}

impl Opus {
    pub(super) fn new(channels: u8) -> Self {
        Self { decoder: None, channels: usize::from(channels) }
    }

    /// The packet's audio, a track per channel; `None` when it is not a packet.
    pub(super) fn decode(&mut self, packet: &[u8]) -> Option<Vec<Vec<i16>>> {
        // An empty packet would conceal a loss of unknown length.
        if packet.is_empty() {
            return None;
        }
        let mut samples = [0.0_f32; MAX_SAMPLES * 2];
        let channels = self.channels;
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            none => none.insert(OpusDecoder::new(i32::try_from(RATE).ok()?, channels).ok()?),
        };
        let output = samples.get_mut(..MAX_SAMPLES * channels)?;
        // The library's own fuzzing found no panic; one that does exist must cost a packet, not the process.
        let decoded = catch_unwind(AssertUnwindSafe(|| decoder.decode(packet, MAX_SAMPLES, output)));
        let Ok(decoded) = decoded else {
            self.decoder = None;
            return None;
        };
        let count = decoded.ok()?.min(MAX_SAMPLES);
        let track = |channel| {
            let own = output.iter().skip(channel).step_by(channels).take(count);
            own.map(|sample| to_i16(*sample)).collect()
        };
        Some((0..channels).map(track).collect())
    }
}

#[expect(clippy::cast_possible_truncation, reason = "`as` saturates, and NaN becomes silence")]
fn to_i16(sample: f32) -> i16 {
    (sample * 32_768.0).round() as i16
}
