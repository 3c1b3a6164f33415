//! Any server with the OpenAI API's `/audio/transcriptions`: utterance by utterance, in order, one at a time per
//! session and a limited number at a time per process.

mod answer;
mod backlog;
mod server;
mod session;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use upstream::{Line, Patience};

use self::backlog::Backlog;
use self::server::Server;
use self::session::Task;
use crate::health::Answers;
use crate::held::{self, Held, Share};
use crate::listener::Listener;
use crate::meters::{Calls, Counter};
use crate::utterance::Cutter;
use crate::{
    Activity, Audio, BadKey, BadSettings, Capabilities, Engine, Events, Meter, Recognizer, ServerHealth,
    Session, Settings, Usage, channel,
};

pub(crate) use self::answer::cleaned;

/// One utterance's request, its tries and the waits between them included.
const DEADLINE: Duration = Duration::from_secs(30);
/// The longest prompt: Whisper reads 224 tokens of it.
const MAX_PROMPT_BYTES: usize = 600;

/// The engine of a process.
pub(crate) struct OpenAi {
    server: Server,
    line: Line,
    answers: Answers,
    requests: Arc<Semaphore>,
    held: Arc<Held>,
    meter: Arc<dyn Meter>,
}

impl OpenAi {
    pub(crate) fn new(
        settings: &Settings,
        meter: Arc<dyn Meter>,
        chance: [u8; 32],
    ) -> Result<Self, BadSettings> {
        if settings.concurrency == 0 {
            return Err(BadSettings::Concurrency);
        }
        let server = Server::new(settings)?;
        let patience = Patience { deadline: DEADLINE, ..Patience::default() };
        let line = Line::new(patience, Arc::new(Calls(Arc::clone(&meter))), chance);
        let requests = Arc::new(Semaphore::new(settings.concurrency.min(Semaphore::MAX_PERMITS)));
        Ok(Self { server, line, answers: Answers::default(), requests, held: Held::new(held::MOST), meter })
    }
}

impl Engine for OpenAi {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { audio: true, own_key: true }
    }

    fn open(&self, session: Session) -> Result<(Box<dyn Recognizer>, Events), BadKey> {
        let server = match &session.own_key {
            Some(key) => self.server.with_own_key(key)?,
            None => self.server.clone(),
        };
        let (events, receiver) = channel();
        let backlog = Arc::new(Backlog::new(&self.held, session.channels));
        let counter = Counter::new(Arc::clone(&self.meter));
        let task = Task {
            server,
            line: self.line.clone(),
            answers: if session.own_key.is_some() { Answers::default() } else { self.answers.clone() },
            requests: Arc::clone(&self.requests),
            backlog: Arc::clone(&backlog),
            events,
            counter: counter.clone(),
            prompt: prompt(&session.vocabulary),
            language: session.language,
            channels: session.channels,
        };
        tokio::spawn(task.run());
        let cutters = (0..u16::from(session.channels)).map(Cutter::new).collect();
        let (listener, open) = (Listener::new(session.channels), self.held.share(1));
        Ok((Box::new(Ear { listener, cutters, open, backlog, counter }), receiver))
    }

    fn server(&self) -> Option<ServerHealth> {
        Some(self.answers.health(self.server.id(), &self.line))
    }

    fn check_server(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.answers.check(self.server.is_there()))
    }
}

/// The session's end that hears.
struct Ear {
    listener: Listener,
    cutters: Vec<Cutter>,
    /// Counts what is in them.
    open: Share,
    backlog: Arc<Backlog>,
    counter: Counter,
}

impl Recognizer for Ear {
    fn hear(&mut self, audio: &Audio) -> Activity {
        let mut ended = Vec::new();
        let activity = self.listener.hear(audio, |frame| {
            for (cutter, (samples, judged)) in self.cutters.iter_mut().zip(frame.tracks()) {
                ended.extend(cutter.take(frame.at, samples, judged));
            }
        });
        self.open.set(self.cutters.iter().map(|cutter| cutter.samples() as u64).sum());
        for utterance in ended {
            self.push(utterance);
        }
        activity
    }

    fn waiting(&self) -> f64 {
        self.backlog.waiting()
    }

    fn is_recognizing(&self) -> bool {
        self.backlog.waiting() > 0.0
    }

    fn pause(&mut self) {
        self.push_open();
    }

    fn flush(&mut self) {
        self.push_open();
        self.backlog.flush();
    }

    fn usage(&self) -> Usage {
        self.counter.usage()
    }
}

impl Ear {
    fn push(&self, utterance: crate::utterance::Utterance) {
        for gap in self.backlog.push(utterance, Instant::now()) {
            self.counter.gap(&gap);
        }
    }

    fn push_open(&mut self) {
        let open: Vec<_> = self.cutters.iter_mut().filter_map(Cutter::flush).collect();
        // What is waiting from now on is counted there.
        self.open.set(0);
        for utterance in open {
            self.push(utterance);
        }
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.push_open();
        self.backlog.close();
    }
}

/// The user's names and terms, as a transcript that would hold them.
fn prompt(vocabulary: &[String]) -> String {
    let mut prompt = String::new();
    for term in vocabulary.iter().map(|term| cleaned(term)).filter(|term| !term.is_empty()) {
        if prompt.len() + term.len() + 2 > MAX_PROMPT_BYTES {
            break;
        }
        prompt.push_str(if prompt.is_empty() { "" } else { ", " });
        prompt.push_str(&term);
    }
    prompt
}
