//! A speech engine that recognizes a word a second, or what the test scripts.

use std::sync::atomic::{AtomicBool, Ordering};

use speech::{
    Activity, Audio, BadKey, Capabilities, Draft, Engine, Event, Events, Reason, Recognizer, Session, Status,
    Usage,
};
use tokio::sync::mpsc;

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
        Capabilities { audio: true, interim: false, speakers: false, own_key: true }
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

    fn finish(self: Box<Self>) {}

    fn usage(&self) -> Usage {
        Usage::default()
    }
}
