//! What devices do: from 16 kHz samples to frames of every codec.

use opus_rs::{Application, OpusEncoder};
use speech::{Codec, Format};

/// A codec at a rate.
#[derive(Debug)]
pub(crate) struct Encoding {
    codec: Codec,
    rate: u32,
}

impl Encoding {
    pub(crate) fn all() -> Vec<Self> {
        let raw = [Codec::Pcm16, Codec::Pcm8, Codec::MuLaw];
        let raw = raw.into_iter().flat_map(|codec| [8_000, 16_000, 48_000].map(|rate| Self { codec, rate }));
        // As clients that do not name a rate.
        let opus = [Codec::Opus, Codec::OpusFs320].map(|codec| Self { codec, rate: 8_000 });
        raw.chain(opus).collect()
    }

    pub(crate) fn format(&self, channels: usize) -> Format {
        Format::new(self.codec, self.rate, u8::try_from(channels).unwrap()).unwrap()
    }

    /// Frames of 10 or 20 ms.
    pub(crate) fn frames(&self, tracks: &[Vec<i16>]) -> Vec<Vec<u8>> {
        match self.codec {
            Codec::Opus => opus(tracks, 160),
            Codec::OpusFs320 => opus(tracks, 320),
            codec => {
                let tracks: Vec<_> = tracks.iter().map(|track| at_rate(track, self.rate)).collect();
                let samples = interleaved(&tracks);
                let bytes: Vec<u8> = match codec {
                    Codec::Pcm8 => samples.iter().map(|sample| ((sample >> 8) + 128) as u8).collect(),
                    Codec::MuLaw => samples.iter().map(|sample| mu_law(*sample)).collect(),
                    _ => samples.iter().flat_map(|sample| sample.to_le_bytes()).collect(),
                };
                // A length that cuts samples in two.
                bytes.chunks(641).map(<[u8]>::to_vec).collect()
            }
        }
    }
}

fn interleaved(tracks: &[Vec<i16>]) -> Vec<i16> {
    (0..tracks[0].len()).flat_map(|at| tracks.iter().map(move |track| track[at])).collect()
}

/// Crude, as cheap devices are: pairs averaged, or samples in between drawn as lines.
fn at_rate(track: &[i16], rate: u32) -> Vec<i16> {
    match rate {
        8_000 => track.chunks_exact(2).map(|pair| i16::midpoint(pair[0], pair[1])).collect(),
        48_000 => {
            track.windows(2).flat_map(|pair| (0..3).map(|third| between(pair[0], pair[1], third))).collect()
        }
        _ => track.to_vec(),
    }
}

fn between(one: i16, other: i16, third: i32) -> i16 {
    ((i32::from(one) * (3 - third) + i32::from(other) * third) / 3) as i16
}

/// G.711: the logarithm by counting bits.
fn mu_law(sample: i16) -> u8 {
    let magnitude = (i32::from(sample).abs() + 132).min(32_767);
    let exponent = magnitude.ilog2() - 7;
    let mantissa = (magnitude >> (exponent + 3)) & 0x0f;
    let sign = if sample < 0 { 0x80 } else { 0 };
    !(sign | (exponent as u8) << 4 | mantissa as u8)
}

fn opus(tracks: &[Vec<i16>], frame: usize) -> Vec<Vec<u8>> {
    let mut encoder = OpusEncoder::new(16_000, tracks.len(), Application::Voip).unwrap();
    encoder.bitrate_bps = 32_000;
    let samples = interleaved(tracks);
    let packet = |samples: &[i16]| {
        let input: Vec<f32> = samples.iter().map(|sample| f32::from(*sample) / 32_768.0).collect();
        let mut packet = vec![0; 1_275];
        let length = encoder.encode(&input, frame, &mut packet).unwrap();
        packet.truncate(length);
        packet
    };
    samples.chunks_exact(frame * tracks.len()).map(packet).collect()
}
