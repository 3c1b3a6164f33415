//! Audio as every engine takes it: 16 kHz, 16 bit, a track per channel.

/// Samples per second of all decoded audio.
pub const RATE: u32 = 16_000;

/// How many seconds `samples` of one track last.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "2^53 samples are 17,000 years")]
pub fn seconds(samples: u64) -> f64 {
    samples as f64 / f64::from(RATE)
}

/// What one frame decoded to. Every track has the same length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audio {
    /// One or two tracks of 16 kHz samples.
    pub tracks: Vec<Vec<i16>>,
    /// The channels mixed to one, at [`Decoder::source_rate`](crate::Decoder::source_rate): what the audio webhook
    /// sends. The same audio as `tracks`, before resampling.
    pub source: Vec<i16>,
}

impl Audio {
    /// Samples per track.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.tracks.first().map_or(0, Vec::len)
    }
}
