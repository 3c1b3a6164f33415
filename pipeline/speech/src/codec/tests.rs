//! Decoders against sounds that are known, and against garbage.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "tests"
)]

use std::f64::consts::TAU;

use opus_rs::{Application, OpusEncoder};
use proptest::prelude::*;

use super::*;

fn decoder(codec: Codec, rate: u32, channels: u8) -> Decoder {
    Decoder::new(Format::new(codec, rate, channels).unwrap())
}

fn tone(rate: u32, hertz: f64, samples: usize) -> Vec<i16> {
    let at = |n: usize| (TAU * hertz * n as f64 / f64::from(rate)).sin() * 12_000.0;
    (0..samples).map(|n| at(n).round() as i16).collect()
}

fn bytes(samples: &[i16]) -> Vec<u8> {
    samples.iter().flat_map(|sample| sample.to_le_bytes()).collect()
}

/// How much stronger `expected` is than the difference, in decibels, away from both ends.
fn likeness(expected: &[i16], found: &[i16]) -> f64 {
    let inner = 200..expected.len().min(found.len()) - 200;
    let power = |samples: &mut dyn Iterator<Item = f64>| samples.map(|sample| sample * sample).sum::<f64>();
    let signal = power(&mut inner.clone().map(|n| f64::from(expected[n])));
    let noise = power(&mut inner.map(|n| f64::from(expected[n]) - f64::from(found[n])));
    10.0 * (signal / noise.max(1.0)).log10()
}

fn encoded(samples: &[i16], frame: usize, channels: usize) -> Vec<Vec<u8>> {
    let mut encoder = OpusEncoder::new(16_000, channels, Application::Voip).unwrap();
    encoder.bitrate_bps = 32_000;
    let packet = |frame_samples: &[i16]| {
        let input: Vec<f32> = frame_samples.iter().map(|sample| f32::from(*sample) / 32_768.0).collect();
        let mut packet = vec![0; 1_275];
        let length = encoder.encode(&input, frame, &mut packet).unwrap();
        packet.truncate(length);
        packet
    };
    samples.chunks_exact(frame * channels).map(packet).collect()
}

#[test]
fn unsupported_rates_and_channels_are_refused() {
    assert_eq!(Format::new(Codec::Pcm16, 16_001, 1), Err(BadFormat::SampleRate));
    assert_eq!(Format::new(Codec::Pcm16, 0, 1), Err(BadFormat::SampleRate));
    assert_eq!(Format::new(Codec::Pcm16, 16_000, 0), Err(BadFormat::Channels));
    assert_eq!(Format::new(Codec::Opus, 16_000, 3), Err(BadFormat::Channels));
}

#[test]
fn decode_16_bit_16_khz_is_unchanged() {
    let samples = [0, 1, -1, i16::MAX, i16::MIN, 77];
    let audio = decoder(Codec::Pcm16, RATE, 1).decode(&bytes(&samples)).unwrap();
    assert_eq!((audio.tracks, audio.source), (vec![samples.to_vec()], samples.to_vec()));
}

#[test]
fn decode_two_channels_into_two_tracks_and_one_mix() {
    let audio = decoder(Codec::Pcm16, RATE, 2).decode(&bytes(&[100, -300, 200, -400])).unwrap();
    assert_eq!(audio.tracks, [[100, 200], [-300, -400]]);
    assert_eq!(audio.source, [-100, -100]);
}

#[test]
fn decode_8_bit_samples_as_unsigned() {
    let audio = decoder(Codec::Pcm8, RATE, 1).decode(&[128, 0, 255]).unwrap();
    assert_eq!(audio.tracks, [[0, -32_768, 32_512]]);
}

#[test]
fn decode_mu_law_as_g711() {
    let audio =
        decoder(Codec::MuLaw, RATE, 1).decode(&[0xff, 0x7f, 0x80, 0x00, 0xf0, 0x70, 0xce, 0x12]).unwrap();
    assert_eq!(audio.tracks, [[0, 0, 32_124, -32_124, 120, -120, 988, -14_972]]);
}

#[test]
fn resample_every_rate_to_16_khz_keeps_sound_and_time() {
    for rate in RATES {
        for hertz in [200.0, 1_000.0, 3_000.0] {
            let mut decoder = decoder(Codec::Pcm16, rate, 1);
            let mut found = Vec::new();
            for frame in bytes(&tone(rate, hertz, rate as usize)).chunks(333) {
                found.extend_from_slice(&decoder.decode(frame).unwrap().tracks[0]);
            }
            let expected = tone(RATE, hertz, RATE as usize);
            assert!(found.len().abs_diff(expected.len()) < 50, "{rate}: {} samples", found.len());
            let likeness = likeness(&expected, &found);
            assert!(likeness > 55.0, "{rate} Hz, a tone of {hertz} Hz: {likeness:.0} dB");
        }
    }
}

#[test]
fn resample_removes_aliasing() {
    let mut decoder = decoder(Codec::Pcm16, 48_000, 1);
    let audio = decoder.decode(&bytes(&tone(48_000, 11_000.0, 30_000))).unwrap();
    let loudest = audio.tracks[0][100..].iter().map(|sample| sample.unsigned_abs()).max().unwrap();
    assert!(loudest < 20, "{loudest} of 12,000");
}

#[test]
fn opus_packets_of_every_length_decode() {
    for frame in [160, 320, 640, 960] {
        let sound = tone(RATE, 440.0, 32_000);
        let mut decoder = decoder(Codec::Opus, 8_000, 1);
        assert_eq!(decoder.source_rate(), RATE);
        let packets = encoded(&sound, frame, 1);
        let mut found = Vec::new();
        for packet in &packets {
            let audio = decoder.decode(packet).unwrap();
            assert_eq!((audio.samples(), audio.source.len()), (frame, frame));
            found.extend_from_slice(&audio.tracks[0]);
        }
        // The codec is late by some milliseconds.
        let best =
            (0..400).map(|late| likeness(&sound[8_000..24_000], &found[8_000 + late..])).fold(0.0, f64::max);
        assert!(best > 20.0, "packets of {frame} samples: {best:.0} dB");
    }
}

#[test]
fn opus_stereo_keeps_channels_apart_and_mono_fills_both() {
    let (left, right) = (tone(RATE, 300.0, 16_000), vec![0; 16_000]);
    let both: Vec<i16> = left.iter().zip(&right).flat_map(|(left, right)| [*left, *right]).collect();
    let mut stereo = decoder(Codec::OpusFs320, RATE, 2);
    let loudness = |track: &[i16]| track.iter().map(|sample| u64::from(sample.unsigned_abs())).sum::<u64>();
    let (mut on_left, mut on_right) = (0, 0);
    for packet in encoded(&both, 320, 2) {
        let audio = stereo.decode(&packet).unwrap();
        assert_eq!(audio.tracks.len(), 2);
        on_left += loudness(&audio.tracks[0]);
        on_right += loudness(&audio.tracks[1]);
    }
    assert!(on_left > 10 * on_right, "{on_left} against {on_right}");
    let audio = stereo.decode(&encoded(&left, 320, 1)[0]).unwrap();
    assert_eq!(audio.tracks[0].len(), audio.tracks[1].len());
}

#[test]
fn opus_bad_packets_are_reported_and_many_in_a_row_fail() {
    let good = encoded(&tone(RATE, 440.0, 3_200), 320, 1);
    let mut decoder = decoder(Codec::Opus, RATE, 1);
    // Code 3 with no frames in it.
    let bad = [0x0b, 0x00];
    for _ in 0..HOPELESS - 1 {
        assert_eq!(decoder.decode(&bad), Err(Undecodable::Packet));
    }
    assert!(decoder.decode(&good[0]).is_ok(), "one good packet, and it may be a stream after all");
    for _ in 0..HOPELESS - 1 {
        assert_eq!(decoder.decode(&bad), Err(Undecodable::Packet));
    }
    assert_eq!(decoder.decode(&bad), Err(Undecodable::Stream));
    assert_eq!(decoder.decode(&[]), Err(Undecodable::Stream));
}

#[test]
fn audio_frames_over_64_kib_are_refused() {
    let frame = vec![128; MAX_FRAME_BYTES + 1];
    assert_eq!(decoder(Codec::Pcm8, 8_000, 1).decode(&frame), Err(Undecodable::TooLong));
    assert!(decoder(Codec::Pcm8, 8_000, 1).decode(&frame[1..]).is_ok());
}

fn any_codec() -> impl Strategy<Value = Codec> {
    prop::sample::select(Codec::ALL.map(|(_, codec)| codec).to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn fuzz_decoder_never_panics_or_grows(
        codec in any_codec(),
        rate in prop::sample::select(RATES.to_vec()),
        channels in 1_u8..=2,
        frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..600), 1..40),
    ) {
        let mut decoder = decoder(codec, rate, channels);
        for frame in frames {
            if let Ok(audio) = decoder.decode(&frame) {
                prop_assert_eq!(audio.tracks.len(), usize::from(channels));
                prop_assert!(audio.tracks.iter().all(|track| track.len() == audio.samples()));
                prop_assert!(audio.samples() <= (frame.len() * 2 + 100).max(1_920));
            }
            prop_assert!(decoder.carry.len() < 4);
        }
    }

    #[test]
    fn raw_samples_may_be_split_anywhere(
        codec in prop::sample::select(vec![Codec::Pcm8, Codec::Pcm16, Codec::MuLaw]),
        rate in prop::sample::select(RATES.to_vec()),
        channels in 1_u8..=2,
        sound in prop::collection::vec(any::<u8>(), 0..4_000),
        cuts in prop::collection::vec(1_usize..500, 1..20),
    ) {
        let whole = decoder(codec, rate, channels).decode(&sound).unwrap();
        let mut decoder = decoder(codec, rate, channels);
        let mut pieces = Audio { tracks: vec![Vec::new(); usize::from(channels)], source: Vec::new() };
        let (mut rest, mut cuts) = (sound.as_slice(), cuts.into_iter().cycle());
        while !rest.is_empty() {
            let (frame, behind) = rest.split_at(cuts.next().unwrap().min(rest.len()));
            let audio = decoder.decode(frame).unwrap();
            for (all, track) in pieces.tracks.iter_mut().zip(audio.tracks) {
                all.extend(track);
            }
            pieces.source.extend(audio.source);
            rest = behind;
        }
        prop_assert_eq!(pieces, whole);
    }
}
