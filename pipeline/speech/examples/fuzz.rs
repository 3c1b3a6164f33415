//! Garbage for every decoder: random packets, good packets with flipped bits, cut ones, ones run together.
//!
//! `cargo run --release -p speech --example fuzz -- 1000000`
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a program that is run by hand"
)]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use opus_rs::{Application, OpusEncoder};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use speech::{Codec, Decoder, Format, RATES};

static PANICS: AtomicU64 = AtomicU64::new(0);

fn main() {
    let packets: u64 =
        std::env::args().nth(1).map_or(100_000, |count| count.parse().expect("a number of packets"));
    let seed: u64 = std::env::args().nth(2).map_or(1, |seed| seed.parse().expect("a seed"));
    // The decoder survives panics of the library; this counts them.
    std::panic::set_hook(Box::new(|panic| {
        PANICS.fetch_add(1, Relaxed);
        println!("panic: {panic}");
    }));
    let mut chance = StdRng::seed_from_u64(seed);
    let good = [good(1, 320), good(1, 960), good(2, 320)].concat();
    for (name, codec) in Codec::ALL {
        run(name, codec, packets, &good, &mut chance);
    }
    let panics = PANICS.load(Relaxed);
    println!("{panics} panics");
    std::process::exit(i32::from(panics > 0));
}

fn run(name: &str, codec: Codec, packets: u64, good: &[Vec<u8>], chance: &mut StdRng) {
    let (mut decoded, mut samples, mut slowest) = (0_u64, 0_u64, Duration::ZERO);
    let mut decoder = None;
    let begin = Instant::now();
    for number in 0..packets {
        if number % 1_000 == 0 {
            let rate = RATES[chance.random_range(0..RATES.len())];
            decoder = Some(Decoder::new(Format::new(codec, rate, chance.random_range(1..=2)).unwrap()));
        }
        let packet = garbage(good, chance);
        let started = Instant::now();
        if let Ok(audio) = decoder.as_mut().unwrap().decode(&packet) {
            decoded += 1;
            samples += audio.samples() as u64;
            let most = (packet.len() * 2 + 100).max(1_920);
            assert!(audio.samples() <= most, "{} samples of {} bytes", audio.samples(), packet.len());
        }
        slowest = slowest.max(started.elapsed());
    }
    let (taken, minutes) = (begin.elapsed().as_secs_f64(), samples / 16_000 / 60);
    println!(
        "{name:10} {packets} packets, {decoded} decoded to {minutes} minutes, {taken:.1} s, slowest {slowest:?}"
    );
}

fn garbage(good: &[Vec<u8>], chance: &mut StdRng) -> Vec<u8> {
    let mut packet = good[chance.random_range(0..good.len())].clone();
    match chance.random_range(0..6) {
        0 => {
            packet = vec![0; chance.random_range(0..400)];
            chance.fill(&mut packet[..]);
        }
        1 => {
            for _ in 0..chance.random_range(1..8) {
                let at = chance.random_range(0..packet.len());
                packet[at] ^= 1 << chance.random_range(0..8);
            }
        }
        2 => packet.truncate(chance.random_range(0..packet.len())),
        3 => packet.extend_from_slice(&good[chance.random_range(0..good.len())]),
        // The first byte says what the rest is.
        4 => packet[0] = chance.random(),
        _ => (),
    }
    packet
}

/// Packets of a rising tone with noise.
fn good(channels: usize, frame: usize) -> Vec<Vec<u8>> {
    let mut encoder = OpusEncoder::new(16_000, channels, Application::Audio).expect("an encoder");
    let mut chance = StdRng::seed_from_u64(7);
    let mut phase = 0.0_f32;
    let packet = |number: u16| {
        let mut input = Vec::new();
        for _ in 0..frame {
            phase += 0.02 + f32::from(number) * 0.002;
            for _ in 0..channels {
                input.push(phase.sin() * 0.4 + chance.random_range(-0.05..0.05));
            }
        }
        let mut packet = vec![0; 1_275];
        let length = encoder.encode(&input, frame, &mut packet).expect("a packet");
        packet.truncate(length);
        packet
    };
    (0..100).map(packet).collect()
}
