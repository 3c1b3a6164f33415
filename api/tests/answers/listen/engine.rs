//! Speech engines: one that recognizes a word a second, and one that says what the test says.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use speech::{
    Activity, Audio, BadKey, Capabilities, Draft, Engine, Event, Events, Reason, Recognizer, Session, Status,
    Usage,
};
use tokio::{
    sync::{mpsc, watch},
    time::timeout,
};

#[derive(Default)]
pub(super) struct WordASecond {
    pub(super) fails: AtomicBool,
    pub(super) own_keys: std::sync::Mutex<Vec<bool>>,
}

struct Ear {
    heard: usize,
    words: usize,
    channels: u8,
    events: mpsc::Sender<Event>,
}

impl Engine for WordASecond {
    fn name(&self) -> &'static str {
        "test"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { audio: true, own_key: true }
    }

    fn open(&self, session: Session) -> Result<(Box<dyn Recognizer>, Events), BadKey> {
        let (events, receiver) = speech::channel();
        self.own_keys.lock().unwrap().push(session.own_key.is_some());
        let status = match self.fails.load(Ordering::SeqCst) {
            true => Status::Failed(Reason::KeyRejected),
            false => Status::Ready,
        };
        events.try_send(Event::Status(status)).unwrap();
        Ok((Box::new(Ear { heard: 0, words: 0, channels: session.channels, events }), receiver))
    }
}

impl Ear {
    fn say(&mut self) {
        let (start, word) = (self.words as f64, self.words);
        self.words += 1;
        let drafts = (0..self.channels).map(|channel| Draft {
            text: format!("word{word}"),
            speaker: u16::from(channel),
            start,
            end: start + 1.0,
        });
        let drafts: Vec<Draft> = drafts.collect();
        let interim = Draft { text: format!("word{word}…"), ..drafts[0].clone() };
        self.events.try_send(Event::Interim(vec![interim])).unwrap();
        self.events.try_send(Event::Final(drafts)).unwrap();
    }
}

impl Recognizer for Ear {
    fn hear(&mut self, audio: &Audio) -> Activity {
        assert_eq!(audio.tracks.len(), usize::from(self.channels));
        self.heard += audio.samples();
        while self.heard / 16_000 > self.words {
            self.say();
        }
        Activity { speaking: true, last_speech: Some(self.heard as f64 / 16_000.0) }
    }

    fn waiting(&self) -> f64 {
        0.0
    }

    fn flush(&mut self) {
        if !self.heard.is_multiple_of(16_000) {
            self.say();
        }
        self.events.try_send(Event::Flushed).unwrap();
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }
}

/// The test sends the events of its session.
#[derive(Default)]
pub(super) struct Prompted {
    session: std::sync::Mutex<Option<mpsc::Sender<Event>>>,
    flushes: watch::Sender<usize>,
}

impl Prompted {
    /// The events of the session that was opened last.
    pub(super) fn events(&self) -> mpsc::Sender<Event> {
        self.session.lock().unwrap().clone().unwrap()
    }

    /// Waits until sessions have asked for so many flushes.
    pub(super) async fn until_flushes(&self, many: usize) {
        let mut flushes = self.flushes.subscribe();
        let asked = flushes.wait_for(|asked| *asked >= many);
        timeout(Duration::from_secs(10), asked).await.expect("a flush is asked for").unwrap();
    }
}

/// Final words.
pub(super) fn said(text: &str) -> Event {
    Event::Final(vec![Draft { text: text.to_owned(), speaker: 0, start: 0.0, end: 1.0 }])
}

/// Whatever it hears is speech; it says so when no more comes.
struct PromptedEar {
    flushes: watch::Sender<usize>,
    events: mpsc::Sender<Event>,
}

impl Engine for Prompted {
    fn name(&self) -> &'static str {
        "test"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { audio: true, own_key: true }
    }

    fn open(&self, _: Session) -> Result<(Box<dyn Recognizer>, Events), BadKey> {
        let (events, receiver) = speech::channel();
        events.try_send(Event::Status(Status::Ready)).unwrap();
        *self.session.lock().unwrap() = Some(events.clone());
        Ok((Box::new(PromptedEar { flushes: self.flushes.clone(), events }), receiver))
    }
}

impl Recognizer for PromptedEar {
    fn hear(&mut self, _: &Audio) -> Activity {
        Activity { speaking: true, last_speech: None }
    }

    fn pause(&mut self) {
        self.events.try_send(said("Paused.")).unwrap();
    }

    fn waiting(&self) -> f64 {
        0.0
    }

    fn flush(&mut self) {
        self.flushes.send_modify(|asked| *asked += 1);
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }
}
