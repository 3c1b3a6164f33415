//! What is said: two seconds of voice and two of silence, over and over, as frames of one codec.

use std::time::Duration;

use opus_rs::{Application, OpusEncoder};

const RATE: usize = 16_000;
/// Seconds of voice, and of silence behind it.
const SECONDS: usize = 2;

/// A codec of the socket, and a cycle of frames.
pub(super) struct Sound {
    pub(super) name: &'static str,
    /// What the query of the socket says of it.
    pub(super) query: &'static str,
    pub(super) every: Duration,
    pub(super) frames: Vec<Vec<u8>>,
}

impl Sound {
    /// 16-bit samples, as the page to speak to sends them: 100 ms a frame.
    pub(super) fn pcm16() -> Self {
        let bytes = |frame: &[i16]| frame.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        Self {
            name: "PCM16, 16 kHz, 100 ms a frame",
            query: "codec=pcm16&sample_rate=16000",
            every: Duration::from_millis(100),
            frames: cycle().chunks_exact(RATE / 10).map(bytes).collect(),
        }
    }

    /// Packets of 20 ms, as the devices of the original send them.
    pub(super) fn opus() -> Self {
        let mut encoder = OpusEncoder::new(16_000, 1, Application::Voip).unwrap();
        encoder.bitrate_bps = 32_000;
        let packet = |samples: &[i16]| {
            let input: Vec<f32> = samples.iter().map(|sample| f32::from(*sample) / 32_768.0).collect();
            let mut packet = vec![0; 1_275];
            let length = encoder.encode(&input, samples.len(), &mut packet).unwrap();
            packet.truncate(length);
            packet
        };
        Self {
            name: "Opus, 16 kHz, 20 ms a packet",
            query: "codec=opus_fs320",
            every: Duration::from_millis(20),
            frames: cycle().chunks_exact(RATE / 50).map(packet).collect(),
        }
    }

    /// Whether the voice ends with this frame of the cycle.
    pub(super) fn ends_with(&self, frame: usize) -> bool {
        frame + 1 == self.frames.len() / 2
    }
}

/// A tone that voice activity detection takes for a voice, and silence.
fn cycle() -> Vec<i16> {
    let voice = SECONDS * RATE;
    let at = |n: usize| match n < voice {
        true => ((n as f64 / RATE as f64 * 300.0 * std::f64::consts::TAU).sin() * 10_000.0) as i16,
        false => 0,
    };
    (0..2 * voice).map(at).collect()
}
