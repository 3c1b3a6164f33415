//! How many times faster than speech one core decodes and listens, and what a session keeps in memory.
//!
//! `cargo run --release -p speech --example speed`
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a program that is run by hand"
)]

use opus_rs::{Application, OpusEncoder};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use speech::{Audio, Codec, Decoder, Engine, Format, Language, RATE, Session, Settings};

/// Of audio in each measurement.
const SECONDS: usize = 120;
/// Sessions whose memory is measured.
const SESSIONS: usize = 400;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let sound = speechlike(SECONDS * RATE as usize);
    let pcm = |rate: u32| -> Vec<Vec<u8>> {
        let frame = rate as usize / 50;
        let bytes = |frame: &[i16]| frame.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        (0..SECONDS * 50).map(|n| bytes(&sound[n * frame % sound.len() / 2..][..frame])).collect()
    };
    let codecs = [
        ("pcm16, 16 kHz", Codec::Pcm16, 16_000, pcm(16_000)),
        ("pcm16, 8 kHz", Codec::Pcm16, 8_000, pcm(8_000)),
        ("pcm16, 44.1 kHz", Codec::Pcm16, 44_100, pcm(44_100)),
        ("opus, 10 ms", Codec::Opus, 16_000, opus(&sound, 160)),
        ("opus, 20 ms", Codec::OpusFs320, 16_000, opus(&sound, 320)),
    ];
    let engine = Settings::client_engine();
    for (name, codec, rate, frames) in &codecs {
        let format = Format::new(*codec, *rate, 1).expect("a format");
        let mut decoder = Decoder::new(format);
        let decoded = faster(|| frames.iter().for_each(|frame| drop(decoder.decode(frame))));
        let (mut decoder, mut recognizer) = (Decoder::new(format), open(engine.as_ref()));
        let both = faster(|| {
            for frame in frames {
                recognizer.hear(&decoder.decode(frame).expect("a good frame"));
            }
        });
        println!("{name:16} decoded {decoded:>8.0} x real time, decoded and listened to {both:>6.0} x");
    }
    let audio: Vec<Audio> =
        sound.chunks(320).map(|frame| Audio { tracks: vec![frame.to_vec()], source: Vec::new() }).collect();
    let mut recognizer = open(engine.as_ref());
    let heard = faster(|| {
        for audio in &audio {
            recognizer.hear(audio);
        }
    });
    println!("{:16} listened to {heard:>6.0} x real time", "voice activity");
    // Kept to the end: memory that is freed is used again.
    let mut sessions = Vec::new();
    for (name, codec, rate, frames) in &codecs {
        let before = resident();
        let format = Format::new(*codec, *rate, 1).expect("a format");
        sessions.extend((0..SESSIONS).map(|_| heard_two_seconds(engine.as_ref(), format, frames)));
        println!("{name:16} {:>4} KiB a session", (resident() - before) / SESSIONS as u64);
    }
}

fn open(engine: &dyn Engine) -> Box<dyn speech::Recognizer> {
    let session = Session { language: Language::Any, channels: 1, vocabulary: Vec::new(), own_key: None };
    engine.open(session).expect("a session").0
}

fn heard_two_seconds(
    engine: &dyn Engine,
    format: Format,
    frames: &[Vec<u8>],
) -> (Decoder, Box<dyn speech::Recognizer>) {
    let (mut decoder, mut recognizer) = (Decoder::new(format), open(engine));
    for frame in frames.iter().take(100) {
        recognizer.hear(&decoder.decode(frame).expect("a good frame"));
    }
    (decoder, recognizer)
}

/// In KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("the line");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

fn faster(work: impl FnOnce()) -> f64 {
    let begin = processor_time();
    work();
    SECONDS as f64 * 1e9 / (processor_time() - begin).max(1) as f64
}

/// Of this thread, in nanoseconds: what else the machine does is no part of it.
fn processor_time() -> u64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    times.split_whitespace().next().expect("a number").parse().expect("a number")
}

/// Syllables of harmonics with noise.
fn speechlike(samples: usize) -> Vec<i16> {
    let mut chance = StdRng::seed_from_u64(5);
    let at = |n: usize| {
        let time = n as f32 / RATE as f32;
        let syllable = (time * 4.0 * std::f32::consts::PI).sin().max(0.0);
        let voice: f32 = (1_u8..8).map(|k| (time * 860.0 * f32::from(k)).sin() / f32::from(k)).sum();
        (voice * syllable * 6_000.0) as i16 + chance.random_range(-100..100)
    };
    (0..samples).map(at).collect()
}

fn opus(sound: &[i16], frame: usize) -> Vec<Vec<u8>> {
    let mut encoder = OpusEncoder::new(16_000, 1, Application::Voip).expect("an encoder");
    encoder.bitrate_bps = 32_000;
    let packet = |samples: &[i16]| {
        let input: Vec<f32> = samples.iter().map(|sample| f32::from(*sample) / 32_768.0).collect();
        let mut packet = vec![0; 1_275];
        let length = encoder.encode(&input, frame, &mut packet).expect("a packet");
        packet.truncate(length);
        packet
    };
    sound.chunks_exact(frame).map(packet).collect()
}
