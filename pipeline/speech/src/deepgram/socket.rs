//! One connection, from its opening to its end.

use std::collections::VecDeque;
use std::time::Duration;

use futures::stream::SplitSink;
use futures::{SinkExt, StreamExt};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_tungstenite::tungstenite;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::connect::Socket;
use super::message::{Message, Results};
use super::tape::Outgoing;
use super::task::Task;
use super::timeline::Timeline;
use crate::{Event, RATE, Reason};

/// The engine closes a connection that sends nothing for 10 s.
const KEEP_ALIVE: Duration = Duration::from_secs(4);
/// A connection without speech is closed; the next word opens another.
const IDLE: Duration = Duration::from_secs(60);
/// Audio that is not final so long after it was sent will not be.
const STALLED: Duration = Duration::from_secs(20);
/// The engine may have nothing to say to a flush, and then says nothing.
const FLUSH: Duration = Duration::from_secs(3);
/// How long the last results are waited for.
const CLOSE: Duration = Duration::from_secs(5);
/// A server that reads no more is lost.
const SEND: Duration = Duration::from_secs(10);
/// Final results that are remembered: one that comes again is not said again.
const REMEMBERED: usize = 64;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The session is over and everything is answered.
    Finished,
    /// There was no speech for a while.
    Idle,
    /// What is not final must be sent again.
    Lost(Reason),
}

/// The state of one connection.
pub(super) struct Conversation<'a> {
    task: &'a Task,
    timeline: Timeline,
    /// Per channel, the session's sample up to which results are final.
    settled: Vec<u64>,
    /// Channel, begin and end, in the stream's seconds, of the last final results.
    finals: VecDeque<(u16, f64, f64)>,
    /// Something became final over this connection.
    pub(super) has_settled: bool,
    last_sent: Instant,
    last_spoken: Instant,
    last_progress: Instant,
    closing: Option<Instant>,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(task: &'a Task) -> Self {
        let now = Instant::now();
        Self {
            task,
            timeline: Timeline::default(),
            settled: vec![0; usize::from(task.channels)],
            finals: VecDeque::new(),
            has_settled: false,
            last_sent: now,
            last_spoken: now,
            last_progress: now,
            closing: None,
        }
    }

    /// Sends and receives until the end.
    pub(super) async fn hold(&mut self, socket: Socket) -> End {
        let (mut sink, mut stream) = socket.split();
        let mut tick = interval(Duration::from_secs(1));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let step = tokio::select! {
                message = stream.next() => self.receive(message).await,
                () = self.task.shared.changed.notified() => Ok(()),
                _ = tick.tick() => self.look_at_the_clock(&mut sink).await,
            };
            let step = match step {
                Ok(()) => self.send_all(&mut sink).await,
                ended => ended,
            };
            if let Err(end) = step {
                // The server may be gone; the session does not wait for it.
                let _ = timeout(Duration::from_millis(100), sink.close()).await;
                return end;
            }
        }
    }

    /// Sends what has not been, and the end behind it.
    async fn send_all(&mut self, sink: &mut SplitSink<Socket, tungstenite::Message>) -> Result<(), End> {
        let flushed = self.task.shared.tape.lock().settle(0).flushed;
        self.task.flushed(flushed).await;
        loop {
            let (outgoing, was_settled) = {
                let mut tape = self.task.shared.tape.lock();
                let was_settled = tape.unsettled() == 0;
                (tape.next(&mut self.timeline, Instant::now()), was_settled)
            };
            match outgoing {
                Some(Outgoing::Audio(bytes, samples)) => {
                    self.last_spoken = Instant::now();
                    if was_settled {
                        self.last_progress = self.last_spoken;
                    }
                    self.send(sink, tungstenite::Message::binary(bytes)).await?;
                    self.task.counter.billed(samples * u64::from(self.task.channels));
                }
                Some(Outgoing::Finalize) => self.send(sink, text("Finalize")).await?,
                None => break,
            }
        }
        self.task.report_lost().await;
        if self.closing.is_none() && self.task.shared.tape.lock().closed {
            self.closing = Some(Instant::now());
            self.send(sink, text("CloseStream")).await?;
        }
        Ok(())
    }

    async fn send(
        &mut self,
        sink: &mut SplitSink<Socket, tungstenite::Message>,
        message: tungstenite::Message,
    ) -> Result<(), End> {
        match timeout(SEND, sink.send(message)).await {
            Ok(Ok(())) => {
                self.last_sent = Instant::now();
                Ok(())
            }
            Ok(Err(_)) => Err(End::Lost(Reason::Unavailable)),
            Err(_) => Err(End::Lost(Reason::Timeout)),
        }
    }

    async fn look_at_the_clock(
        &mut self,
        sink: &mut SplitSink<Socket, tungstenite::Message>,
    ) -> Result<(), End> {
        let now = Instant::now();
        let (unsettled, is_idle) = {
            let tape = self.task.shared.tape.lock();
            (tape.unsettled(), tape.is_idle())
        };
        if self.closing.is_some_and(|since| now - since > CLOSE) {
            return Err(End::Lost(Reason::Timeout));
        }
        if unsettled >= u64::from(RATE) && now - self.last_progress > STALLED {
            return Err(End::Lost(Reason::Timeout));
        }
        if is_idle && self.closing.is_none() && now - self.last_spoken > IDLE {
            return Err(End::Idle);
        }
        while now.checked_sub(FLUSH).is_some_and(|before| self.task.shared.tape.lock().answer_flush(before)) {
            self.task.flushed(1).await;
        }
        if now - self.last_sent >= KEEP_ALIVE && self.closing.is_none() {
            self.send(sink, text("KeepAlive")).await?;
        }
        Ok(())
    }

    async fn receive(
        &mut self,
        message: Option<Result<tungstenite::Message, tungstenite::Error>>,
    ) -> Result<(), End> {
        let Some(Ok(message)) = message else { return Err(End::Lost(Reason::Unavailable)) };
        match message {
            tungstenite::Message::Text(text) => match Message::read(&text) {
                Some(Message::Results(results)) => {
                    self.results(results).await;
                    Ok(())
                }
                // The end of a stream: everything that was sent is answered.
                Some(Message::Metadata) if self.closing.is_some() => {
                    self.settle(None, u64::MAX).await;
                    Err(End::Finished)
                }
                Some(Message::Metadata | Message::Other) => Ok(()),
                Some(Message::Error) => Err(End::Lost(Reason::Unavailable)),
                None => Err(End::Lost(Reason::Malformed)),
            },
            tungstenite::Message::Close(frame) => Err(End::Lost(match frame.map(|frame| frame.code) {
                // It takes what it was sent for no audio.
                Some(CloseCode::Policy) => Reason::Rejected,
                _ => Reason::Unavailable,
            })),
            _ => Ok(()),
        }
    }

    async fn results(&mut self, results: Results) {
        let sound = results.start.is_finite() && results.start >= 0.0 && results.end().is_finite();
        if !sound {
            return;
        }
        let (track, start, end) = (results.track(), results.start, results.end());
        let (is_final, from_finalize) = (results.is_final, results.from_finalize);
        let is_repeated = self.is_repeated(track, start, end);
        let drafts = results.drafts(&self.timeline, self.task.channels);
        if !is_final {
            if !drafts.is_empty() && !is_repeated {
                // A client that reads slowly loses interim words.
                let _ = self.task.events.try_send(Event::Interim(drafts));
            }
            return;
        }
        let has_words = !is_repeated && !drafts.is_empty();
        if has_words {
            self.finals.push_back((track, start, end));
            if self.finals.len() > REMEMBERED {
                self.finals.pop_front();
            }
            self.task.send(Event::Final(drafts)).await;
        }
        // Behind the words: a flush is reported when they are.
        let finalized = if from_finalize { self.task.shared.tape.lock().first_finalize() } else { None };
        let to = self.timeline.end(end).max(finalized.unwrap_or(0));
        let heard = self.settle(Some(track), to).await;
        if has_words {
            self.task.recognized(heard);
        }
    }

    /// Most of it was final already.
    fn is_repeated(&self, track: u16, start: f64, end: f64) -> bool {
        let shared = |(other, from, to): &(u16, f64, f64)| {
            if *other == track { (end.min(*to) - start.max(*from)).max(0.0) } else { 0.0 }
        };
        let length = end - start;
        length > 0.0 && self.finals.iter().map(shared).sum::<f64>() > length / 2.0
    }

    /// The channel's audio before the session's sample `to` is final; returns when the last of it was heard.
    async fn settle(&mut self, track: Option<u16>, to: u64) -> Option<Instant> {
        for (at, settled) in self.settled.iter_mut().enumerate() {
            if track.is_none_or(|track| usize::from(track) == at) {
                *settled = (*settled).max(to);
            }
        }
        let all = self.settled.iter().min().copied().unwrap_or(to);
        let settled = self.task.shared.tape.lock().settle(all);
        if settled.heard.is_some() {
            self.has_settled = true;
            self.last_progress = Instant::now();
        }
        self.task.flushed(settled.flushed).await;
        settled.heard
    }
}

fn text(kind: &str) -> tungstenite::Message {
    tungstenite::Message::text(format!(r#"{{"type":"{kind}"}}"#))
}
