//! What one session's task works with, and what it sends to the session.

use std::sync::Arc;

use reqwest::Url;
use tokio::sync::mpsc;
use tokio::time::Instant;
use upstream::Line;

use super::Shared;
use super::connect::Address;
use crate::Event;
use crate::health::Answers;
use crate::meters::Counter;

pub(super) struct Task {
    pub(super) url: Url,
    pub(super) address: Address,
    pub(super) line: Line,
    pub(super) answers: Answers,
    pub(super) shared: Arc<Shared>,
    pub(super) events: mpsc::Sender<Event>,
    pub(super) counter: Counter,
    pub(super) channels: u8,
}

impl Task {
    pub(super) async fn report_lost(&self) {
        let lost = self.shared.tape.lock().take_lost();
        for gap in lost {
            self.counter.gap(&gap);
            self.send(Event::Gap(gap)).await;
        }
    }

    pub(super) async fn flushed(&self, times: usize) {
        for _ in 0..times {
            self.send(Event::Flushed).await;
        }
    }

    /// Words became final that were heard then.
    pub(super) fn recognized(&self, heard: Option<Instant>) {
        let latency = heard.map(|heard| Instant::now().duration_since(heard)).unwrap_or_default();
        self.counter.recognized(latency);
    }

    /// A session that is gone misses nothing; the task is about to end.
    pub(super) async fn send(&self, event: Event) {
        let _ = self.events.send(event).await;
    }
}
