//! 16-bit mono WAV, which every transcription server takes.

use crate::RATE;

const HEADER: u32 = 44;

/// The samples as a WAV file.
pub(crate) fn wav(samples: &[i16]) -> Vec<u8> {
    let bytes = u32::try_from(samples.len() * 2).unwrap_or(u32::MAX - HEADER);
    let mut file = Vec::with_capacity(HEADER as usize + samples.len() * 2);
    file.extend_from_slice(b"RIFF");
    file.extend_from_slice(&(bytes + HEADER - 8).to_le_bytes());
    file.extend_from_slice(b"WAVEfmt ");
    file.extend_from_slice(&16_u32.to_le_bytes());
    // PCM, one channel.
    file.extend_from_slice(&1_u16.to_le_bytes());
    file.extend_from_slice(&1_u16.to_le_bytes());
    file.extend_from_slice(&RATE.to_le_bytes());
    file.extend_from_slice(&(RATE * 2).to_le_bytes());
    // Two bytes a sample, 16 bits.
    file.extend_from_slice(&2_u16.to_le_bytes());
    file.extend_from_slice(&16_u16.to_le_bytes());
    file.extend_from_slice(b"data");
    file.extend_from_slice(&bytes.to_le_bytes());
    for sample in samples {
        file.extend_from_slice(&sample.to_le_bytes());
    }
    file
}
