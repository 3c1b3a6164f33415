//! Deepgram's live socket: audio while there is speech, interim and final results. A lost connection is opened again
//! and sent what was not final.

mod connect;
mod message;
mod session;
mod socket;
mod tape;
mod task;
mod timeline;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use upstream::{Line, Patience};

use self::connect::Address;
use self::tape::Tape;
use self::task::Task;
use crate::health::Answers;
use crate::held::{self, Held};
use crate::listener::{Frame, Listener};
use crate::meters::{Calls, Counter};
use crate::utterance::BEFORE;
use crate::{
    Activity, Audio, BadKey, BadSettings, Capabilities, Engine, Events, Meter, Recognizer, ServerHealth,
    Session, Settings, Usage, channel,
};

/// How long opening a socket may take.
const CONNECT: Duration = Duration::from_secs(10);

/// The engine of a process.
pub(crate) struct Deepgram {
    address: Address,
    line: Line,
    answers: Answers,
    held: Arc<Held>,
    meter: Arc<dyn Meter>,
}

impl Deepgram {
    pub(crate) fn new(
        settings: &Settings,
        meter: Arc<dyn Meter>,
        chance: [u8; 32],
    ) -> Result<Self, BadSettings> {
        let patience = Patience { deadline: CONNECT, retries: 0, ..Patience::default() };
        let line = Line::new(patience, Arc::new(Calls(Arc::clone(&meter))), chance);
        let held = Held::new(held::MOST);
        Ok(Self { address: Address::new(settings)?, line, answers: Answers::default(), held, meter })
    }
}

impl Engine for Deepgram {
    fn name(&self) -> &'static str {
        "deepgram"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { audio: true, own_key: false }
    }

    fn open(&self, session: Session) -> Result<(Box<dyn Recognizer>, Events), BadKey> {
        if session.own_key.is_some() {
            return Err(BadKey);
        }
        let (events, receiver) = channel();
        let shared = Arc::new(Shared {
            tape: Mutex::new(Tape::new(session.channels, &self.held)),
            changed: Notify::new(),
        });
        let counter = Counter::new(Arc::clone(&self.meter));
        let task = Task {
            url: self.address.of(&session),
            address: self.address.clone(),
            line: self.line.clone(),
            answers: self.answers.clone(),
            shared: Arc::clone(&shared),
            events,
            counter: counter.clone(),
            channels: session.channels,
        };
        tokio::spawn(task.run());
        let listener = Listener::new(session.channels);
        Ok((Box::new(Ear { listener, gate: Gate::default(), shared, counter }), receiver))
    }

    fn server(&self) -> Option<ServerHealth> {
        Some(self.answers.health(self.address.id(), &self.line))
    }

    fn check_server(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.answers.check(self.address.is_there()))
    }
}

/// What the ear and the session's task share.
struct Shared {
    tape: Mutex<Tape>,
    changed: Notify,
}

/// The session's end that hears.
struct Ear {
    listener: Listener,
    gate: Gate,
    shared: Arc<Shared>,
    counter: Counter,
}

/// Lets audio through while there is speech, and a little before.
#[derive(Default)]
struct Gate {
    /// The last frames of silence.
    before: VecDeque<(u64, Vec<i16>)>,
    open: bool,
}

impl Recognizer for Ear {
    fn hear(&mut self, audio: &Audio) -> Activity {
        let now = Instant::now();
        let mut tape = self.shared.tape.lock();
        let activity = self.listener.hear(audio, |frame| self.gate.take(frame, &mut tape, now));
        drop(tape);
        self.shared.changed.notify_one();
        activity
    }

    fn waiting(&self) -> f64 {
        self.shared.tape.lock().waiting()
    }

    fn is_recognizing(&self) -> bool {
        !self.shared.tape.lock().is_idle()
    }

    fn pause(&mut self) {
        if self.gate.open {
            self.shared.tape.lock().pause();
            self.shared.changed.notify_one();
        }
    }

    fn flush(&mut self) {
        self.shared.tape.lock().flush();
        self.shared.changed.notify_one();
    }

    fn usage(&self) -> Usage {
        self.counter.usage()
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.shared.tape.lock().closed = true;
        self.shared.changed.notify_one();
    }
}

impl Gate {
    fn take(&mut self, frame: &Frame<'_>, tape: &mut Tape, now: Instant) {
        let samples = interleaved(frame);
        match (self.open, frame.speaking()) {
            (false, false) => {
                self.before.push_back((frame.at, samples));
                if self.before.len() > BEFORE {
                    self.before.pop_front();
                }
                return;
            }
            (false, true) => {
                for (at, samples) in self.before.drain(..) {
                    tape.record(at, &samples, now);
                }
            }
            (true, _) => (),
        }
        tape.record(frame.at, &samples, now);
        if self.open && !frame.speaking() {
            tape.pause();
        }
        self.open = frame.speaking();
    }
}

/// The frame's samples of all tracks in turn.
fn interleaved(frame: &Frame<'_>) -> Vec<i16> {
    let tracks: Vec<&[i16]> = frame.tracks().map(|(samples, _)| samples).collect();
    match tracks[..] {
        [left, right] => left.iter().zip(right).flat_map(|(left, right)| [*left, *right]).collect(),
        [one] => one.to_vec(),
        _ => Vec::new(),
    }
}
