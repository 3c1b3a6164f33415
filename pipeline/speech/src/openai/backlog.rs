//! Utterances that wait for their turn: in order, 60 s of each channel at most. When recognition is slow, neighbours
//! become one longer utterance; when more would wait than is kept, here or in all sessions together ([`Held`]), the oldest is
//! given up.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::held::{Held, Share};
use crate::utterance::{LONGEST, Utterance};
use crate::{Gap, RATE, Reason, seconds};

/// Audio of one channel that waits or is being recognized: 60 s.
const MOST: u64 = 60 * RATE as u64;
/// Utterances with a longer pause between them stay apart: a recognizer invents words on silence. 2 s.
const LONGEST_PAUSE: u64 = 2 * RATE as u64;

/// What the session does next.
pub(super) enum Work {
    /// Recognizes it.
    Recognize(Waiting),
    /// Reports that everything before is settled.
    Flushed,
    /// Reports what was given up meanwhile.
    Lost(Gap),
}

/// An utterance and since when it waits.
pub(super) struct Waiting {
    pub(super) utterance: Utterance,
    pub(super) since: Instant,
}

struct Queue {
    waiting: VecDeque<Entry>,
    lost: VecDeque<Gap>,
    /// Samples that wait, and those of the utterance that was taken last.
    held: Share,
    taken: u64,
    channels: u64,
    closed: bool,
}

enum Entry {
    Utterance(Waiting),
    Flush,
}

/// Shared by the recognizer, which fills it, and the session's task, which works it off.
pub(super) struct Backlog {
    queue: Mutex<Queue>,
    changed: Notify,
    /// Permitted once, when it is closed.
    closing: Notify,
}

impl Backlog {
    /// An empty one for the utterances of all channels, which counts what it keeps in `held`.
    pub(super) fn new(held: &Arc<Held>, channels: u8) -> Self {
        let queue = Queue {
            waiting: VecDeque::new(),
            lost: VecDeque::new(),
            held: held.share(1),
            taken: 0,
            channels: u64::from(channels.max(1)),
            closed: false,
        };
        Self { queue: Mutex::new(queue), changed: Notify::new(), closing: Notify::new() }
    }

    /// Adds an utterance that ended now; returns what had to be given up for it.
    pub(super) fn push(&self, mut utterance: Utterance, now: Instant) -> Vec<Gap> {
        utterance.samples.shrink_to_fit();
        let mut queue = self.queue.lock();
        queue.held.add(utterance.samples.len() as u64);
        match queue.waiting.back_mut() {
            Some(Entry::Utterance(last)) if may_join(&last.utterance, &utterance) => {
                let pause = usize::try_from(utterance.start - last.utterance.end()).unwrap_or(0);
                join(&mut last.utterance, utterance, pause);
                queue.held.add(pause as u64);
            }
            _ => queue.waiting.push_back(Entry::Utterance(Waiting { utterance, since: now })),
        }
        let mut given_up = Vec::new();
        // The newest is kept: where others fill the budget, it is the next to be recognized.
        while (queue.held.samples() > MOST * queue.channels || queue.held.is_over() && queue.utterances() > 1)
            && let Some(oldest) = queue.drop_oldest()
        {
            let gap = gap(&oldest, Reason::Overloaded);
            queue.lost.push_back(gap);
            given_up.push(gap);
        }
        drop(queue);
        self.changed.notify_one();
        given_up
    }

    /// Seconds of audio that wait, with those that are being recognized: of each channel, on average.
    pub(super) fn waiting(&self) -> f64 {
        let queue = self.queue.lock();
        seconds(queue.held.samples() / queue.channels)
    }

    /// Asks for a report when everything so far is settled.
    pub(super) fn flush(&self) {
        self.queue.lock().waiting.push_back(Entry::Flush);
        self.changed.notify_one();
    }

    /// Nothing more will come.
    pub(super) fn close(&self) {
        self.queue.lock().closed = true;
        self.changed.notify_one();
        self.closing.notify_one();
    }

    /// Waits until [`close`](Self::close); for the one task that works it off.
    pub(super) async fn closed(&self) {
        if !self.queue.lock().closed {
            self.closing.notified().await;
        }
    }

    /// The next work; `None` when it is closed and empty.
    pub(super) async fn next(&self) -> Option<Work> {
        loop {
            {
                let mut queue = self.queue.lock();
                let taken = std::mem::take(&mut queue.taken);
                queue.held.remove(taken);
                if let Some(gap) = queue.lost.pop_front() {
                    return Some(Work::Lost(gap));
                }
                match queue.waiting.pop_front() {
                    Some(Entry::Flush) => return Some(Work::Flushed),
                    Some(Entry::Utterance(waiting)) => {
                        queue.taken = waiting.utterance.samples.len() as u64;
                        return Some(Work::Recognize(waiting));
                    }
                    None if queue.closed => return None,
                    None => (),
                }
            }
            self.changed.notified().await;
        }
    }
}

impl Queue {
    fn utterances(&self) -> usize {
        self.waiting.iter().filter(|entry| matches!(entry, Entry::Utterance(_))).count()
    }

    fn drop_oldest(&mut self) -> Option<Utterance> {
        let at = self.waiting.iter().position(|entry| matches!(entry, Entry::Utterance(_)))?;
        let Some(Entry::Utterance(Waiting { utterance, .. })) = self.waiting.remove(at) else { return None };
        self.held.remove(utterance.samples.len() as u64);
        Some(utterance)
    }
}

/// The gap that `utterance` leaves.
pub(super) fn gap(utterance: &Utterance, reason: Reason) -> Gap {
    Gap { start: seconds(utterance.start), end: seconds(utterance.end()), reason }
}

fn may_join(last: &Utterance, next: &Utterance) -> bool {
    let follows = next.start >= last.end() && next.start - last.end() <= LONGEST_PAUSE;
    last.track == next.track && follows && next.end() - last.start <= LONGEST as u64
}

fn join(last: &mut Utterance, next: Utterance, pause: usize) {
    last.samples.reserve_exact(pause + next.samples.len());
    last.samples.resize(last.samples.len() + pause, 0);
    last.samples.extend(next.samples);
    last.voiced += next.voiced;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "tests")]

    use futures::FutureExt;

    use super::*;

    fn utterance(start_seconds: u64, length_seconds: usize) -> Utterance {
        let rate = RATE as usize;
        Utterance {
            track: 0,
            start: start_seconds * u64::from(RATE),
            samples: vec![7; length_seconds * rate],
            voiced: 10_000,
        }
    }

    fn next(backlog: &Backlog) -> Option<Work> {
        backlog.next().now_or_never().flatten()
    }

    #[tokio::test]
    async fn stt_backlog_joins_adjacent_utterances() {
        let backlog = Backlog::new(&Held::new(usize::MAX), 1);
        backlog.push(utterance(0, 4), Instant::now());
        backlog.push(utterance(5, 4), Instant::now());
        backlog.push(utterance(20, 4), Instant::now());
        let Some(Work::Recognize(first)) = next(&backlog) else { panic!("the joined one") };
        assert_eq!((first.utterance.start, first.utterance.samples.len()), (0, 9 * RATE as usize));
        assert_eq!(first.utterance.samples[4 * RATE as usize], 0, "the pause is silence");
        let Some(Work::Recognize(second)) = next(&backlog) else { panic!("the far one") };
        assert_eq!(second.utterance.start, 20 * u64::from(RATE));
        assert!(next(&backlog).is_none());
    }

    #[tokio::test]
    async fn stt_backlog_joins_up_to_the_maximum_length() {
        let backlog = Backlog::new(&Held::new(usize::MAX), 1);
        for start in [0, 10, 20, 30, 40] {
            backlog.push(utterance(start, 10), Instant::now());
        }
        while let Some(Work::Recognize(waiting)) = next(&backlog) {
            assert!(waiting.utterance.samples.len() <= LONGEST);
        }
    }

    #[tokio::test]
    async fn stt_backlog_keeps_a_minute_and_reports_what_it_drops() {
        let backlog = Backlog::new(&Held::new(usize::MAX), 1);
        backlog.push(utterance(0, 20), Instant::now());
        let Some(Work::Recognize(_taken)) = next(&backlog) else { panic!("the first") };
        let mut given_up = Vec::new();
        for start in [30, 60, 90] {
            given_up.extend(backlog.push(utterance(start, 20), Instant::now()));
        }
        assert_eq!(given_up, [Gap { start: 30.0, end: 50.0, reason: Reason::Overloaded }]);
        assert!(matches!(next(&backlog), Some(Work::Lost(gap)) if gap == given_up[0]));
        assert!(
            matches!(next(&backlog), Some(Work::Recognize(waiting)) if waiting.utterance.start == 60 * 16_000)
        );
    }

    /// Both sides of a telephone call speak: half a minute of each was given up.
    #[tokio::test]
    async fn stt_backlog_keeps_a_minute_of_each_of_two_channels() {
        let backlog = Backlog::new(&Held::new(usize::MAX), 2);
        for start in [0, 30, 60] {
            for track in [0, 1] {
                let spoken = Utterance { track, ..utterance(start, 20) };
                assert!(backlog.push(spoken, Instant::now()).is_empty(), "{start} of {track}");
            }
        }
        assert!((backlog.waiting() - 60.0).abs() < 0.1, "a client is slowed down as one of one channel is");
        let given_up = backlog.push(utterance(90, 20), Instant::now());
        assert_eq!(given_up, [Gap { start: 0.0, end: 20.0, reason: Reason::Overloaded }]);
    }

    #[tokio::test]
    async fn stt_backlog_over_the_shared_limit_drops_the_oldest() {
        let held = Held::new(30 * RATE as usize * 2);
        let (one, two) = (Backlog::new(&held, 1), Backlog::new(&held, 1));
        assert!(one.push(utterance(0, 10), Instant::now()).is_empty());
        assert!(two.push(utterance(0, 10), Instant::now()).is_empty());
        assert!(two.push(utterance(30, 10), Instant::now()).is_empty());
        let lost = Gap { start: 0.0, end: 10.0, reason: Reason::Overloaded };
        assert_eq!(two.push(utterance(60, 10), Instant::now()), [lost], "its own, and the oldest");
        let Some(Work::Recognize(_taken)) = next(&one) else { panic!("the other keeps its own") };
        assert_eq!(two.push(utterance(90, 1), Instant::now()).len(), 1, "what is being recognized counts");
        drop(one);
        assert!(two.push(utterance(120, 10), Instant::now()).is_empty());
    }

    #[tokio::test]
    async fn stt_backlog_reports_a_flush_after_earlier_audio() {
        let backlog = Backlog::new(&Held::new(usize::MAX), 1);
        backlog.push(utterance(0, 1), Instant::now());
        backlog.flush();
        backlog.push(utterance(1, 1), Instant::now());
        backlog.close();
        assert!(matches!(next(&backlog), Some(Work::Recognize(_))));
        assert!(matches!(next(&backlog), Some(Work::Flushed)));
        assert!(matches!(next(&backlog), Some(Work::Recognize(_))));
        assert!(backlog.next().await.is_none());
    }
}
