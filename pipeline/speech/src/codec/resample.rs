//! From any allowed rate to 16 kHz by a polyphase filter: 16,000 / rate as a fraction `up / down`, a filter row for
//! each of the `up` positions between two samples. Rows are made once per rate and process.

use std::f64::consts::PI;
use std::sync::{Arc, LazyLock};

use crate::RATE;
use parking_lot::Mutex;

/// Samples of the source on which one of the output depends when the rate rises; more when it falls.
const TAPS: u32 = 32;
/// The share of the smaller band that passes; the rest is the filter's slope.
const PASS: f64 = 0.92;
/// Of the Kaiser window: images and aliases are about 80 dB down.
const BETA: f64 = 8.0;

/// Turns one track into 16 kHz.
pub(super) struct Resampler {
    filter: Arc<Filter>,
    /// Source samples that are still needed.
    pending: Vec<f32>,
    /// The row of the next output sample.
    phase: usize,
}

struct Filter {
    rate: u32,
    down: usize,
    rows: Vec<Vec<f32>>,
}

impl Resampler {
    /// `None` when there is nothing to do.
    pub(super) fn new(rate: u32) -> Option<Self> {
        (rate != RATE).then(|| {
            let filter = filter(rate);
            // Half a row of silence before the first sample: the output is not late.
            let pending = vec![0.0; filter.rows.first().map_or(0, Vec::len) / 2];
            Self { filter, pending, phase: 0 }
        })
    }

    /// The part of the output that follows from the track so far.
    pub(super) fn resample(&mut self, track: &[i16]) -> Vec<i16> {
        self.pending.extend(track.iter().map(|sample| f32::from(*sample)));
        let (rows, down) = (&self.filter.rows, self.filter.down);
        let mut output = Vec::with_capacity(track.len() * rows.len() / down + 2);
        let mut at = 0;
        while let Some(row) = rows.get(self.phase)
            && let Some(window) = self.pending.get(at..at + row.len())
        {
            output.push(dot(row, window));
            self.phase += down;
            at += self.phase / rows.len();
            self.phase %= rows.len();
        }
        self.pending.drain(..at.min(self.pending.len()));
        output
    }
}

/// The rows' lengths are multiples of eight, so that the compiler can use wide registers.
#[expect(clippy::cast_possible_truncation, reason = "`as` saturates, which is what a loud sample needs")]
fn dot(row: &[f32], window: &[f32]) -> i16 {
    let mut sums = [0.0_f32; 8];
    for (row, window) in row.chunks_exact(8).zip(window.chunks_exact(8)) {
        for (sum, (one, other)) in sums.iter_mut().zip(row.iter().zip(window)) {
            *sum += one * other;
        }
    }
    sums.iter().sum::<f32>().round() as i16
}

/// The filter of `rate`, made on first use.
fn filter(rate: u32) -> Arc<Filter> {
    static FILTERS: LazyLock<Mutex<Vec<Arc<Filter>>>> = LazyLock::new(Mutex::default);
    let mut filters = FILTERS.lock();
    if let Some(found) = filters.iter().find(|filter| filter.rate == rate) {
        return Arc::clone(found);
    }
    let made = Arc::new(Filter::new(rate));
    filters.push(Arc::clone(&made));
    made
}

impl Filter {
    fn new(rate: u32) -> Self {
        let shared = greatest_common_divisor(rate, RATE);
        let (up, down) = (RATE / shared, rate / shared);
        let taps = (TAPS * rate.max(RATE) / RATE).next_multiple_of(8);
        // In cycles per sample of the source.
        let cutoff = 0.5 * PASS * f64::from(rate.min(RATE)) / f64::from(rate);
        let rows = (0..up).map(|phase| row(f64::from(phase) / f64::from(up), taps, cutoff)).collect();
        Self { rate, down: down as usize, rows }
    }
}

/// The filter for an output sample `offset` behind the middle of its window.
#[expect(clippy::cast_possible_truncation, reason = "coefficients need no more than 24 bits")]
fn row(offset: f64, taps: u32, cutoff: f64) -> Vec<f32> {
    let half = f64::from(taps) / 2.0;
    let weights: Vec<f64> = (0..taps)
        .map(|tap| {
            let distance = f64::from(tap) - half - offset;
            let inside = (1.0 - (distance / (half + 1.0)).powi(2)).max(0.0);
            sinc(2.0 * cutoff * distance) * bessel(BETA * inside.sqrt())
        })
        .collect();
    // A constant stays what it is.
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| (weight / sum) as f32).collect()
}

fn sinc(x: f64) -> f64 {
    if x.abs() < 1e-9 { 1.0 } else { (PI * x).sin() / (PI * x) }
}

/// The modified Bessel function of the first kind, of order zero.
fn bessel(x: f64) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    for step in 1..40 {
        term *= (x / (2.0 * f64::from(step))).powi(2);
        sum += term;
    }
    sum
}

fn greatest_common_divisor(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}
