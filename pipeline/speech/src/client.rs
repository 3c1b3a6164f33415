//! Engines that recognize nothing themselves: `client` (its client sends transcripts) and `none`. Both watch for
//! speech, because the silence timer counts from it.

use crate::listener::Listener;
use crate::{
    Activity, Audio, BadKey, Capabilities, Engine, Event, Events, Reason, Recognizer, Session, Status, Usage,
    channel,
};

/// Only watches for speech.
pub(crate) struct Silent {
    name: &'static str,
    status: Status,
}

impl Silent {
    pub(crate) fn none() -> Self {
        Self { name: "none", status: Status::Failed(Reason::NoSpeechEngine) }
    }

    pub(crate) fn client() -> Self {
        Self { name: "client", status: Status::Ready }
    }
}

impl Engine for Silent {
    fn name(&self) -> &'static str {
        self.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { audio: false, own_key: true }
    }

    fn open(&self, session: Session) -> Result<(Box<dyn Recognizer>, Events), BadKey> {
        let (events, receiver) = channel();
        let watcher = Watcher { listener: Listener::new(session.channels), events };
        watcher.send(Event::Status(self.status));
        Ok((Box::new(watcher), receiver))
    }
}

struct Watcher {
    listener: Listener,
    events: tokio::sync::mpsc::Sender<Event>,
}

impl Watcher {
    /// Only a session that reads none of its events has no room, and it does not miss these.
    fn send(&self, event: Event) {
        let _ = self.events.try_send(event);
    }
}

impl Recognizer for Watcher {
    fn hear(&mut self, audio: &Audio) -> Activity {
        self.listener.hear(audio, |_| ())
    }

    fn waiting(&self) -> f64 {
        0.0
    }

    fn flush(&mut self) {
        self.send(Event::Flushed);
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }
}
