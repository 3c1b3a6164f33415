//! The audio that all sessions of a process keep until it is recognized: bounded, because every session keeps a minute of it
//! while its engine does not answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a process keeps: 256 MiB, which is a minute of each of 139 tracks.
pub(crate) const MOST: usize = 256 * 1024 * 1024;

/// Counts what is kept.
#[derive(Debug)]
pub(crate) struct Held {
    bytes: AtomicUsize,
    shares: AtomicUsize,
    most: usize,
}

impl Held {
    /// For sessions that keep `most` bytes together.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { bytes: AtomicUsize::new(0), shares: AtomicUsize::new(0), most })
    }

    /// The share of a session whose audio has so many tracks.
    pub(crate) fn share(self: &Arc<Self>, tracks: usize) -> Share {
        self.shares.fetch_add(1, Ordering::Relaxed);
        Share { held: Arc::clone(self), tracks, samples: 0 }
    }
}

/// What one session keeps; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    held: Arc<Held>,
    tracks: usize,
    /// Of each track.
    samples: u64,
}

impl Share {
    /// Samples of each track that are kept.
    pub(crate) fn samples(&self) -> u64 {
        self.samples
    }

    pub(crate) fn add(&mut self, samples: u64) {
        self.samples += samples;
        self.held.bytes.fetch_add(self.bytes(samples), Ordering::Relaxed);
    }

    pub(crate) fn remove(&mut self, samples: u64) {
        let samples = samples.min(self.samples);
        self.samples -= samples;
        self.held.bytes.fetch_sub(self.bytes(samples), Ordering::Relaxed);
    }

    /// It keeps so many from now on.
    pub(crate) fn set(&mut self, samples: u64) {
        self.remove(self.samples);
        self.add(samples);
    }

    /// Whether all sessions together keep more than they may, and this one more than an equal part of it. Who hears speech
    /// then gives up the oldest that it keeps.
    pub(crate) fn is_over(&self) -> bool {
        let equal = self.held.most / self.held.shares.load(Ordering::Relaxed).max(1);
        self.held.bytes.load(Ordering::Relaxed) > self.held.most && self.bytes(self.samples) > equal
    }

    fn bytes(&self, samples: u64) -> usize {
        usize::try_from(samples).unwrap_or(0) * self.tracks * size_of::<i16>()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.remove(self.samples);
        self.held.shares.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_audio_is_counted_across_sessions_and_released() {
        let held = Held::new(1_000);
        let (mut one, mut two) = (held.share(1), held.share(2));
        one.add(300);
        two.add(100);
        assert!(!one.is_over(), "1,000 bytes are allowed");
        one.add(1);
        assert!(one.is_over(), "602 of the 1,002 bytes are its own");
        assert!(!two.is_over(), "who keeps less than an equal part gives nothing up for others");
        one.remove(101);
        assert_eq!((one.samples(), one.is_over()), (200, false));
        two.add(1_000);
        two.set(150);
        assert_eq!((two.samples(), two.is_over()), (150, false));
        drop(two);
        assert!(!one.is_over());
        drop(one);
        assert_eq!(held.bytes.load(Ordering::Relaxed), 0);
    }
}
