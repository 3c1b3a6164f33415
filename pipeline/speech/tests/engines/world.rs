//! One session of an engine: says tones, collects events.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mock_speech::{Deepgram, Transcriber, silence, tone};
use secrecy::SecretString;
use speech::{
    Activity, Audio, Choice, Draft, Engine, Event, Events, Gap, Language, Meter, Reason, Recognizer, Session,
    Settings, Status,
};
use tokio::task::yield_now;
use tokio::time::{advance, pause, timeout};

/// Longer than any test waits by the paused clock.
const FOREVER: Duration = Duration::from_secs(3_600);

/// What was counted.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) calls: Mutex<Vec<&'static str>>,
    pub(crate) gaps: Mutex<Vec<(Reason, Duration)>>,
    pub(crate) hallucinations: Mutex<u32>,
    pub(crate) latencies: Mutex<Vec<Duration>>,
}

impl Meter for Counts {
    fn called(&self, outcome: &'static str) {
        self.calls.lock().unwrap().push(outcome);
    }

    fn recognized(&self, latency: Duration) {
        self.latencies.lock().unwrap().push(latency);
    }

    fn gap(&self, reason: Reason, audio: Duration) {
        self.gaps.lock().unwrap().push((reason, audio));
    }

    fn hallucination(&self) {
        *self.hallucinations.lock().unwrap() += 1;
    }
}

/// Makes the clock run about a hundred times as fast. A clock that is only paused jumps to the next deadline whenever
/// all tasks wait, an answer that is on its way included.
pub(crate) fn hurry() {
    pause();
    tokio::spawn(async {
        loop {
            for _ in 0..10 {
                yield_now().await;
            }
            advance(Duration::from_millis(10)).await;
        }
    });
}

pub(crate) fn openai(server: &Transcriber) -> Settings {
    Settings {
        engine: Choice::OpenAi,
        base_url: Some(server.base_url()),
        api_key: Some(SecretString::from("service-key")),
        ..Settings::default()
    }
}

pub(crate) fn deepgram(server: &Deepgram) -> Settings {
    Settings {
        engine: Choice::Deepgram,
        deepgram_base_url: server.base_url(),
        deepgram_api_key: Some(SecretString::from("service-key")),
        ..Settings::default()
    }
}

pub(crate) fn engine(settings: &Settings) -> Arc<dyn Engine> {
    counted(settings).0
}

pub(crate) fn counted(settings: &Settings) -> (Arc<dyn Engine>, Arc<Counts>) {
    // What the binary does at its start.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let counts = Arc::<Counts>::default();
    (settings.engine(counts.clone(), [7; 32]).expect("settings that work"), counts)
}

pub(crate) fn session() -> Session {
    Session { language: Language::Tag("en-US".into()), channels: 1, vocabulary: Vec::new(), own_key: None }
}

/// A session under way.
pub(crate) struct Speaker {
    pub(crate) recognizer: Option<Box<dyn Recognizer>>,
    pub(crate) events: Events,
    pub(crate) seen: Vec<Event>,
    channels: usize,
}

impl Speaker {
    pub(crate) fn open(engine: &Arc<dyn Engine>, session: Session) -> Self {
        let channels = usize::from(session.channels);
        let (recognizer, events) = engine.open(session).expect("a session");
        Self { recognizer: Some(recognizer), events, seen: Vec::new(), channels }
    }

    /// Says it on the first channel, in frames of 100 ms. The others are silent.
    pub(crate) fn say(&mut self, samples: &[i16]) -> Activity {
        let mut tracks = vec![samples.to_vec()];
        tracks.resize(self.channels, vec![0; samples.len()]);
        self.say_all(&tracks)
    }

    pub(crate) fn say_all(&mut self, tracks: &[Vec<i16>]) -> Activity {
        let mut activity = Activity::default();
        for begin in (0..tracks[0].len()).step_by(1_600) {
            let end = (begin + 1_600).min(tracks[0].len());
            let tracks = tracks.iter().map(|track| track[begin..end].to_vec()).collect();
            activity = self.recognizer.as_mut().unwrap().hear(&Audio { tracks, source: Vec::new() });
        }
        activity
    }

    /// A tone between two pauses.
    pub(crate) fn utter(&mut self, hertz: u32, seconds: f64) {
        self.say(&silence(1.0));
        self.say(&tone(hertz, seconds));
        self.say(&silence(1.0));
    }

    /// Waits for an event of that kind; all that came before are among `seen`, itself included.
    pub(crate) async fn until(&mut self, is_it: impl Fn(&Event) -> bool) -> Event {
        loop {
            let next = timeout(FOREVER, self.events.recv()).await.expect("an event in time");
            let event = next.unwrap_or_else(|| panic!("the events ended, after {:?}", self.seen));
            self.seen.push(event.clone());
            if is_it(&event) {
                return event;
            }
        }
    }

    /// There is no more audio: all events.
    pub(crate) async fn finish(mut self) -> Seen {
        drop(self.recognizer.take());
        while let Some(event) = timeout(FOREVER, self.events.recv()).await.expect("an end in time") {
            self.seen.push(event);
        }
        Seen(self.seen)
    }
}

/// The events of a session.
#[derive(Debug)]
pub(crate) struct Seen(pub(crate) Vec<Event>);

impl Seen {
    pub(crate) fn finals(&self) -> Vec<Draft> {
        let finals = self.0.iter().filter_map(|event| match event {
            Event::Final(drafts) => Some(drafts.clone()),
            _ => None,
        });
        finals.flatten().collect()
    }

    /// The words of all final results, in order.
    pub(crate) fn words(&self) -> Vec<String> {
        let drafts = self.finals();
        drafts.iter().flat_map(|draft| draft.text.split(' ').map(str::to_owned)).collect()
    }

    pub(crate) fn gaps(&self) -> Vec<Gap> {
        self.0
            .iter()
            .filter_map(|event| if let Event::Gap(gap) = event { Some(*gap) } else { None })
            .collect()
    }

    pub(crate) fn statuses(&self) -> Vec<Status> {
        let statuses = self.0.iter();
        statuses
            .filter_map(|event| if let Event::Status(status) = event { Some(*status) } else { None })
            .collect()
    }

    /// Each tone was heard once, where it was: within 0.6 s, and no two results share time.
    pub(crate) fn assert_heard(&self, tones: &[(u32, f64, f64)]) {
        let finals = self.finals();
        for draft in &finals {
            let hertz: u32 = draft.text.split(' ').next().unwrap()[4..].parse().unwrap();
            let same = draft.text.split(' ').all(|word| word == format!("tone{hertz}"));
            assert!(same, "a result about one tone: {}", draft.text);
            let place = tones.iter().any(|(tone, start, end)| {
                *tone == hertz
                    && start - 0.6 < draft.start
                    && draft.start < draft.end
                    && draft.end < end + 0.6
            });
            assert!(place, "tone{hertz} is not at {}..{}", draft.start, draft.end);
        }
        for pair in finals.windows(2) {
            assert!(pair[0].end <= pair[1].start + 0.01, "in order and once: {pair:?}");
        }
        for (tone, start, end) in tones {
            let name = format!("tone{tone}");
            let of_it = finals.iter().filter(|draft| draft.text.starts_with(&name));
            let heard: f64 = of_it.map(|draft| draft.end.min(*end) - draft.start.max(*start)).sum();
            assert!(heard > 0.8 * (end - start), "{heard} s of {name}, which lasted {} s", end - start);
        }
    }
}

pub(crate) fn is_final(event: &Event) -> bool {
    matches!(event, Event::Final(_))
}

pub(crate) fn is_ready(event: &Event) -> bool {
    *event == Event::Status(Status::Ready)
}
