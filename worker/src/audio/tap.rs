//! The audio of one session for a receiver: gathered here, sent by a task of its own.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use records::UserId;
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::time::{Instant, sleep_until};

use super::Shared;
use super::post::Receiver;

/// The most that one request holds, whatever the rate.
const MAX_BYTES: usize = 2 * 1_024 * 1_024;
/// Requests that wait for a slow receiver; beyond them the oldest is dropped.
const MOST_WAITING: usize = 2;
/// How often the user's settings are read while a session goes on.
const READ_EVERY: Duration = Duration::from_secs(45);
/// The same after the database did not answer.
const READ_AGAIN: Duration = Duration::from_secs(5);

/// Takes the audio of one session. When it is dropped, what was gathered is sent.
pub struct AudioTap {
    line: Arc<Line>,
    gathered: Option<Chunk>,
    /// Bytes that were not kept since the last dropped request was counted.
    lost: usize,
}

/// Audio with the memory that it takes.
struct Chunk {
    bytes: Vec<u8>,
    memory: OwnedSemaphorePermit,
}

/// Between a session and the task that sends its audio.
struct Line {
    shared: Arc<Shared>,
    /// Bytes of one request; 0: nothing is to be sent.
    wanted: AtomicUsize,
    waiting: Mutex<Waiting>,
    changed: Notify,
}

#[derive(Default)]
struct Waiting {
    chunks: VecDeque<Chunk>,
    is_closed: bool,
}

/// A tap, and what sends its audio until the tap is dropped and nothing waits.
pub(super) fn open(shared: Arc<Shared>, user: UserId, rate: u32) -> (AudioTap, impl Future<Output = ()>) {
    let line = Arc::new(Line {
        shared,
        // Until the settings are read, audio is gathered.
        wanted: AtomicUsize::new(MAX_BYTES),
        waiting: Mutex::default(),
        changed: Notify::new(),
    });
    let tap = AudioTap { line: Arc::clone(&line), gathered: None, lost: 0 };
    (tap, async move { line.send_all(&user, rate).await })
}

impl AudioTap {
    /// Takes the next samples of the session. Never waits.
    pub fn hear(&mut self, samples: &[i16]) {
        let wanted = self.line.wanted.load(Ordering::Relaxed);
        if wanted == 0 {
            self.gathered = None;
            return;
        }
        let size = samples.len() * 2;
        let Some(memory) = u32::try_from(size).ok().and_then(|size| self.line.memory(size)) else {
            self.lose(size, wanted);
            return;
        };
        let chunk = match &mut self.gathered {
            Some(chunk) => {
                chunk.memory.merge(memory);
                chunk
            }
            none => none.insert(Chunk { bytes: Vec::new(), memory }),
        };
        chunk.bytes.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
        if chunk.bytes.len() >= wanted
            && let Some(chunk) = self.gathered.take()
        {
            self.line.push(chunk);
        }
    }

    /// The process keeps as much audio as it may: what was gathered goes, too, because a request has no gaps.
    fn lose(&mut self, size: usize, wanted: usize) {
        self.lost += size + self.gathered.take().map_or(0, |chunk| chunk.bytes.len());
        if self.lost >= wanted {
            self.lost = 0;
            self.line.shared.metrics.count_dropped_audio("memory");
        }
    }
}

impl Drop for AudioTap {
    fn drop(&mut self) {
        // Less than a request: a session that was too short to lose one has lost it all the same.
        if self.lost > 0 {
            self.line.shared.metrics.count_dropped_audio("memory");
        }
        if let Some(chunk) = self.gathered.take().filter(|chunk| !chunk.bytes.is_empty()) {
            self.line.push(chunk);
        }
        self.line.waiting.lock().is_closed = true;
        self.line.changed.notify_one();
    }
}

impl Line {
    fn memory(&self, size: u32) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.shared.budget).try_acquire_many_owned(size).ok()
    }

    fn push(&self, chunk: Chunk) {
        let mut waiting = self.waiting.lock();
        if waiting.chunks.len() >= MOST_WAITING {
            waiting.chunks.pop_front();
            self.shared.metrics.count_dropped_audio("behind");
        }
        waiting.chunks.push_back(chunk);
        drop(waiting);
        self.changed.notify_one();
    }

    /// The next request's audio; `None` when there is no more.
    async fn next(&self) -> Option<Chunk> {
        loop {
            {
                let mut waiting = self.waiting.lock();
                if let Some(chunk) = waiting.chunks.pop_front() {
                    return Some(chunk);
                }
                if waiting.is_closed {
                    return None;
                }
            }
            self.changed.notified().await;
        }
    }

    /// Sends one request after the other, and reads the user's settings again from time to time.
    async fn send_all(&self, user: &UserId, rate: u32) {
        let mut receiver = None;
        let mut read_next = self.read(user, rate, &mut receiver).await;
        loop {
            let chunk = tokio::select! {
                chunk = self.next() => match chunk {
                    Some(chunk) => chunk,
                    None => return,
                },
                () = sleep_until(read_next) => {
                    read_next = self.read(user, rate, &mut receiver).await;
                    continue;
                }
            };
            let Some(to) = &receiver else { continue };
            let Chunk { bytes, memory } = chunk;
            let delivered = self.shared.post(user, to, rate, bytes).await;
            drop(memory);
            if !delivered {
                // It may be disabled now.
                read_next = self.read(user, rate, &mut receiver).await;
            }
        }
    }

    /// Reads where audio is to be posted; returns when it is to be read again. What was read before stays while the
    /// database does not answer.
    async fn read(&self, user: &UserId, rate: u32, receiver: &mut Option<Receiver>) -> Instant {
        let read_at = Instant::now();
        let ledger = self.shared.shards.of_user(user);
        match ledger.db().in_time(ledger.outbox().audio_receiver(user)).await {
            Ok(found) => {
                let bytes = found.as_ref().map_or(0, |found| bytes_of(found.seconds, rate));
                self.wanted.store(bytes, Ordering::Relaxed);
                *receiver = found.map(|receiver| Receiver { receiver, read_at });
                read_at + READ_EVERY
            }
            Err(error) => {
                tracing::warn!(%error, "an audio webhook could not be read");
                Instant::now() + READ_AGAIN
            }
        }
    }
}

/// Bytes of a request with so many seconds of audio: whole samples.
fn bytes_of(seconds: i32, rate: u32) -> usize {
    let samples = usize::try_from(rate).unwrap_or(0) * usize::try_from(seconds).unwrap_or(0);
    (samples * 2).clamp(2, MAX_BYTES)
}
