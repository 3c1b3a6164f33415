//! From a socket's binary frames to audio. Every codec, one and two channels, every allowed rate; bounded by the
//! frame's size, and no frame makes it panic.

mod opus;
mod resample;

use opus::Opus;
use resample::Resampler;

use crate::{Audio, RATE};

/// Sample rates that a client may name.
pub const RATES: [u32; 9] = [8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000];
/// The largest frame that is decoded; the socket refuses larger ones.
const MAX_FRAME_BYTES: usize = 64 * 1024;
/// Undecodable frames in a row after which the stream is not worth listening to: a second of Opus.
const HOPELESS: u32 = 50;

/// The query's `codec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// `pcm8`: 8-bit unsigned.
    Pcm8,
    /// `pcm16`: 16-bit signed, little-endian.
    Pcm16,
    /// `mulaw`: G.711 µ-law.
    MuLaw,
    /// `opus`: one packet per frame (10 ms from the original's devices; any length is taken).
    Opus,
    /// `opus_fs320`: the same with packets of 20 ms.
    OpusFs320,
}

impl Codec {
    /// Every codec by its name in the query.
    pub const ALL: [(&'static str, Self); 5] = [
        ("pcm8", Self::Pcm8),
        ("pcm16", Self::Pcm16),
        ("mulaw", Self::MuLaw),
        ("opus", Self::Opus),
        ("opus_fs320", Self::OpusFs320),
    ];

    fn is_opus(self) -> bool {
        matches!(self, Self::Opus | Self::OpusFs320)
    }
}

/// How a client encodes its audio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    codec: Codec,
    sample_rate: u32,
    channels: u8,
}

/// A format that is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadFormat {
    /// Not one of [`RATES`].
    #[error("the sample rate must be one of 8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000")]
    SampleRate,
    /// Not 1 or 2.
    #[error("there must be 1 or 2 channels")]
    Channels,
}

impl Format {
    /// Checks what the query says.
    pub fn new(codec: Codec, sample_rate: u32, channels: u8) -> Result<Self, BadFormat> {
        match (RATES.contains(&sample_rate), channels) {
            (false, _) => Err(BadFormat::SampleRate),
            (true, 1 | 2) => Ok(Self { codec, sample_rate, channels }),
            (true, _) => Err(BadFormat::Channels),
        }
    }

    /// Channels: 1 or 2.
    #[must_use]
    pub fn channels(&self) -> u8 {
        self.channels
    }
}

/// Why a frame was not decoded. The frame is lost; the next one may be fine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undecodable {
    /// Larger than 64 KiB.
    #[error("the frame is larger than 64 KiB")]
    TooLong,
    /// Not an Opus packet.
    #[error("the frame is not an Opus packet")]
    Packet,
    /// Not an Opus packet, like the 50 frames before it: the stream is not what its query says (close 1003).
    #[error(
        "the last 50 frames were not Opus packets: is `codec` right, and is there one packet in each frame?"
    )]
    Stream,
}

/// Decodes one socket's frames.
pub struct Decoder {
    format: Format,
    opus: Option<Opus>,
    resamplers: Vec<Resampler>,
    /// The beginning of a sample whose rest is in the next frame.
    carry: Vec<u8>,
    bad_in_a_row: u32,
}

impl Decoder {
    /// A decoder for a new stream.
    #[must_use]
    pub fn new(format: Format) -> Self {
        let opus = format.codec.is_opus().then(|| Opus::new(format.channels));
        let source_rate = source_rate(format);
        let resamplers = (0..format.channels).filter_map(|_| Resampler::new(source_rate)).collect();
        Self { format, opus, resamplers, carry: Vec::new(), bad_in_a_row: 0 }
    }

    /// The rate of [`Audio::source`]: the client's; 16,000 for Opus, whose packets decode to any rate.
    #[must_use]
    pub fn source_rate(&self) -> u32 {
        source_rate(self.format)
    }

    /// Decodes one frame. Raw samples may be cut anywhere; an Opus packet is one frame.
    pub fn decode(&mut self, frame: &[u8]) -> Result<Audio, Undecodable> {
        if frame.len() > MAX_FRAME_BYTES {
            return Err(Undecodable::TooLong);
        }
        let tracks = match &mut self.opus {
            None => self.raw(frame),
            Some(opus) => match opus.decode(frame) {
                Some(tracks) => tracks,
                None => return Err(self.bad_packet()),
            },
        };
        self.bad_in_a_row = 0;
        let source = mixed(&tracks);
        Ok(Audio { tracks: self.resampled(tracks), source })
    }

    fn bad_packet(&mut self) -> Undecodable {
        self.bad_in_a_row = self.bad_in_a_row.saturating_add(1);
        if self.bad_in_a_row >= HOPELESS { Undecodable::Stream } else { Undecodable::Packet }
    }

    /// Raw samples, a track per channel.
    fn raw(&mut self, frame: &[u8]) -> Vec<Vec<i16>> {
        let channels = usize::from(self.format.channels);
        let width = if self.format.codec == Codec::Pcm16 { 2 } else { 1 };
        let mut bytes = std::mem::take(&mut self.carry);
        bytes.extend_from_slice(frame);
        let whole = bytes.len() - bytes.len() % (width * channels);
        self.carry = bytes.split_off(whole);
        let mut tracks = vec![Vec::with_capacity(whole / (width * channels)); channels];
        for together in bytes.chunks_exact(width * channels) {
            for (track, sample) in tracks.iter_mut().zip(together.chunks_exact(width)) {
                track.push(match *sample {
                    [low, high] => i16::from_le_bytes([low, high]),
                    [byte] if self.format.codec == Codec::Pcm8 => (i16::from(byte) - 128) << 8,
                    [byte] => from_mu_law(byte),
                    _ => 0,
                });
            }
        }
        tracks
    }

    fn resampled(&mut self, tracks: Vec<Vec<i16>>) -> Vec<Vec<i16>> {
        if self.resamplers.is_empty() {
            return tracks;
        }
        tracks.iter().zip(&mut self.resamplers).map(|(track, resampler)| resampler.resample(track)).collect()
    }
}

fn source_rate(format: Format) -> u32 {
    if format.codec.is_opus() { RATE } else { format.sample_rate }
}

/// The tracks as one.
fn mixed(tracks: &[Vec<i16>]) -> Vec<i16> {
    match tracks {
        [one] => one.clone(),
        [left, right] => left.iter().zip(right).map(|(left, right)| i16::midpoint(*left, *right)).collect(),
        _ => Vec::new(),
    }
}

/// One byte of G.711 µ-law: sign, three bits of exponent, four of mantissa, all inverted.
fn from_mu_law(byte: u8) -> i16 {
    let bits = !byte;
    let magnitude = ((i16::from(bits & 0x0f) << 3) + 132) << ((bits & 0x70) >> 4);
    if bits & 0x80 == 0 { magnitude - 132 } else { 132 - magnitude }
}

#[cfg(test)]
mod tests;
