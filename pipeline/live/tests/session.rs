//! The machine against a ledger that is kept in memory: whatever happens, and in whatever order, nothing that was said is
//! lost or stored twice, and every session comes to its end.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

use std::collections::BTreeMap;

use live::{Action, CloseCode, Conversation, Event, Lost, Session, Timing, Utterance};
use proptest::prelude::*;

const TIMING: Timing = Timing { silence: 120.0, longest: 14_400.0, apart: 0.6, renew: 10.0 };
/// Segments that a conversation of this ledger holds.
const MOST: usize = 6;

#[derive(Default)]
struct Stored {
    segments: BTreeMap<String, String>,
    processing: bool,
    deleted: bool,
    admitted_by_session: usize,
}

struct World {
    session: Session,
    now: f64,
    conversations: Vec<Stored>,
    /// The operation under way.
    asked: Option<Action>,
    superseded: bool,
    said: usize,
    shown: BTreeMap<String, String>,
    flushed: usize,
    closed: Option<CloseCode>,
}

impl World {
    fn new() -> Self {
        let (session, actions) = Session::begin(TIMING);
        let mut world = Self {
            session,
            now: 0.0,
            conversations: Vec::new(),
            asked: None,
            superseded: false,
            said: 0,
            shown: BTreeMap::new(),
            flushed: 0,
            closed: None,
        };
        world.carry(actions);
        world
    }

    fn on(&mut self, event: Event) {
        let actions = self.session.on(event, self.now);
        self.carry(actions);
    }

    fn carry(&mut self, actions: Vec<Action>) {
        for action in actions {
            assert_eq!(self.closed, None, "nothing follows the end: {action:?}");
            match action {
                Action::Show(segments) => {
                    self.shown.extend(segments.into_iter().map(|segment| (segment.id, segment.text)));
                }
                Action::Flushed => self.flushed += 1,
                Action::Ended(_) => {}
                Action::Close(code) => self.closed = Some(code),
                operation => {
                    assert_eq!(self.asked.replace(operation), None, "one operation at a time");
                }
            }
        }
        assert!(self.session.deadline().is_none_or(|due| due.is_finite() && self.asked.is_none()));
    }

    fn current(&mut self) -> &mut Stored {
        self.conversations.last_mut().unwrap()
    }

    /// Carries out what was asked for and answers it.
    fn answer(&mut self) {
        let Some(asked) = self.asked.take() else { return };
        let superseded = self.superseded;
        let event = match asked {
            Action::Open => {
                self.superseded = false;
                self.conversations.push(Stored::default());
                let id = (self.conversations.len() - 1).to_string();
                Event::Opened(Conversation { id, began_ago: None, silent_for: 0.0, pictured: false })
            }
            _ if superseded => Event::Refused(Lost::Superseded),
            _ if self.current().processing || self.current().deleted => Event::Refused(Lost::Ended),
            Action::Append { segments, began_ago } => {
                let now = self.now;
                let stored = self.current();
                assert_eq!(began_ago.is_some(), stored.segments.is_empty());
                assert!(began_ago.is_none_or(|ago| (0.0..=now + 3_600.0).contains(&ago)));
                let new = segments.iter().filter(|said| !stored.segments.contains_key(&said.id)).count();
                if stored.segments.len() + new > MOST && !stored.segments.is_empty() {
                    Event::Full
                } else {
                    for said in &segments {
                        assert!(0.0 <= said.start && said.start <= said.end, "{said:?}");
                        stored.segments.insert(said.id.clone(), said.text.clone());
                    }
                    Event::Appended(vec![Some(0); segments.len()])
                }
            }
            Action::Renew => Event::Renewed,
            Action::Admit => {
                let stored = self.current();
                assert!(!stored.segments.is_empty(), "an empty conversation is never admitted");
                stored.processing = true;
                stored.admitted_by_session += 1;
                Event::Admitted
            }
            Action::Release => {
                let stored = self.current();
                stored.deleted |= stored.segments.is_empty();
                Event::Released
            }
            other => panic!("not an operation: {other:?}"),
        };
        self.on(event);
    }

    fn say(&mut self, many: usize, own_id: bool) {
        let utterances = (0..many).map(|_| {
            self.said += 1;
            Utterance {
                id: format!("s{}", self.said),
                own_id,
                text: format!("w{}", self.said),
                speaker: format!("SPEAKER_0{}", self.said / 3 % 2),
                is_user: false,
                person_id: None,
                start: self.now,
                end: self.now + 0.5,
                provider: None,
            }
        });
        let utterances = utterances.collect();
        self.on(Event::Said { utterances, by_client: true });
    }

    /// Answers everything and ends the session.
    fn drain(&mut self) {
        self.on(Event::Leave(CloseCode::ByClient));
        for _ in 0..1_000 {
            if self.closed.is_some() {
                return;
            }
            assert!(self.asked.is_some(), "a session that ends waits for nothing but the ledger");
            self.answer();
        }
        panic!("the session has no end");
    }
}

#[derive(Clone, Debug)]
enum Step {
    Answer,
    Say(usize, bool),
    Speak,
    Wait(f64),
    UntilDue,
    Flush,
    FinalizedElsewhere { noticed: bool },
    Deleted,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => Just(Step::Answer),
        4 => (1_usize..5, any::<bool>()).prop_map(|(many, own)| Step::Say(many, own)),
        1 => Just(Step::Speak),
        2 => (0.0_f64..200.0).prop_map(Step::Wait),
        3 => Just(Step::UntilDue),
        1 => Just(Step::Flush),
        1 => any::<bool>().prop_map(|noticed| Step::FinalizedElsewhere { noticed }),
        1 => Just(Step::Deleted),
    ]
}

fn run(steps: &[Step]) -> World {
    let mut world = World::new();
    for step in steps {
        match step {
            Step::Answer => world.answer(),
            Step::Say(many, own_id) => world.say(*many, *own_id),
            Step::Speak => world.on(Event::Speech),
            Step::Wait(seconds) => {
                world.now += seconds;
                world.on(Event::Tick);
            }
            Step::UntilDue => {
                if let Some(due) = world.session.deadline() {
                    world.now = world.now.max(due);
                    let before = world.session.deadline();
                    world.on(Event::Tick);
                    let after = world.session.deadline();
                    assert!(
                        world.asked.is_some() || after.is_some_and(|after| after > world.now),
                        "a tick that was due does something: {before:?} {after:?}"
                    );
                }
            }
            Step::Flush => world.on(Event::Flush),
            Step::FinalizedElsewhere { noticed } => {
                let id = world.session.conversation().map(str::to_owned);
                if let (Some(stored), Some(id)) = (world.conversations.last_mut(), id)
                    && !stored.segments.is_empty()
                    && !stored.deleted
                {
                    stored.processing = true;
                    if *noticed {
                        world.on(Event::AdmittedElsewhere(id));
                    }
                }
            }
            Step::Deleted => {
                // The user deletes a conversation: its words went with it, and were stored before.
                if let Some(stored) = world.conversations.last_mut() {
                    stored.deleted = true;
                }
            }
        }
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn live_session_stores_every_word_once_and_shows_it_as_stored(
        steps in proptest::collection::vec(step(), 0..60),
    ) {
        let mut world = run(&steps);
        world.drain();
        let mut words: Vec<usize> = Vec::new();
        for stored in &world.conversations {
            prop_assert!(stored.admitted_by_session <= 1);
            for (id, text) in &stored.segments {
                prop_assert_eq!(world.shown.get(id), Some(text));
                words.extend(text.split(' ').map(|word| word[1..].parse::<usize>().unwrap()));
            }
        }
        words.sort_unstable();
        let all: Vec<usize> = (1..=world.said).collect();
        prop_assert_eq!(words, all);
        prop_assert_eq!(world.closed, Some(CloseCode::ByClient));
        // An empty stub is not left behind.
        let left = world.conversations.iter().filter(|stored| stored.segments.is_empty() && !stored.deleted);
        prop_assert_eq!(left.count(), 0);
    }

    #[test]
    fn live_superseded_socket_closes_when_it_is_told(
        before in proptest::collection::vec(step(), 0..20),
        after in proptest::collection::vec(step(), 0..20),
    ) {
        let mut world = run(&before);
        world.superseded = true;
        for step in after {
            match step {
                Step::Say(many, own_id) => world.say(many, own_id),
                Step::UntilDue | Step::Wait(_) => {
                    world.now += 0.7;
                    world.on(Event::Tick);
                }
                _ => {
                    let told = world.asked.as_ref().is_some_and(|asked| *asked != Action::Open);
                    world.answer();
                    if told {
                        prop_assert_eq!(world.closed, Some(CloseCode::Superseded));
                        prop_assert_eq!(&world.asked, &None);
                    }
                    // A conversation that was opened anew is its own.
                    if !world.superseded {
                        break;
                    }
                }
            }
        }
    }
}

#[test]
fn live_conversation_ends_after_its_silence_not_before() {
    let mut world = World::new();
    world.answer();
    world.say(1, false);
    world.answer();
    world.now = 60.0;
    world.on(Event::Speech);
    world.on(Event::Tick);
    world.answer();
    world.now = 179.9;
    world.on(Event::Tick);
    assert_eq!(world.asked, None);
    assert_eq!(world.session.deadline(), Some(180.0));
    world.now = 180.0;
    world.on(Event::Tick);
    assert_eq!(world.asked, Some(Action::Admit));
    world.answer();
    assert_eq!(world.asked, Some(Action::Open), "the socket goes on with a new stub");
}

#[test]
fn live_conversation_without_pauses_ends_at_the_maximum_length() {
    let mut world = World::new();
    world.answer();
    while world.now < 14_399.0 {
        world.say(1, false);
        for _ in 0..3 {
            world.answer();
        }
        assert!(!matches!(world.asked, Some(Action::Admit)) || world.conversations.len() > 1);
        world.now += 50.0;
    }
    let full = world.conversations.iter().filter(|stored| stored.processing).count();
    assert!(full >= 1);
}

#[test]
fn live_resumed_conversation_keeps_its_clock_and_silence() {
    let (mut session, actions) = Session::begin(TIMING);
    assert_eq!(actions, [Action::Open]);
    let resumed =
        Conversation { id: "c".to_owned(), began_ago: Some(300.0), silent_for: 100.0, pictured: false };
    assert_eq!(session.on(Event::Opened(resumed), 1.0), []);
    assert_eq!(session.deadline(), Some(1.0 - 100.0 + 120.0));
    let said = Utterance {
        id: "s".to_owned(),
        own_id: false,
        text: "Back again.".to_owned(),
        speaker: "SPEAKER_00".to_owned(),
        is_user: true,
        person_id: None,
        start: 4.0,
        end: 5.0,
        provider: None,
    };
    let actions = session.on(Event::Said { utterances: vec![said], by_client: true }, 10.0);
    let Some(Action::Append { segments, began_ago: None }) = actions.first() else { panic!("{actions:?}") };
    assert_eq!((segments[0].start, segments[0].end), (308.0, 309.0));
}

#[test]
fn live_conversation_of_pictures_only_ends_after_its_silence() {
    for resumed in [false, true] {
        let (mut session, _) = Session::begin(TIMING);
        let opened =
            Conversation { id: "c".to_owned(), began_ago: None, silent_for: 30.0, pictured: resumed };
        assert_eq!(session.on(Event::Opened(opened), 1.0), []);
        if !resumed {
            assert_eq!(
                session.on(Event::Tick, 11.0),
                [Action::Renew],
                "an empty one is kept as long as its session"
            );
            assert_eq!(session.on(Event::Renewed, 11.0), []);
            assert_eq!(session.on(Event::Pictured("other".to_owned()), 11.5), []);
            assert_eq!(session.on(Event::Pictured("c".to_owned()), 12.0), []);
        }
        let end = if resumed { 1.0 - 30.0 + 120.0 } else { 132.0 };
        assert_eq!(session.deadline(), Some(end));
        assert_eq!(session.on(Event::Tick, end), [Action::Admit]);
    }
}

#[test]
fn live_full_session_reports_it_and_recovers() {
    let mut world = World::new();
    world.say(1, true);
    let long = |id: usize| Utterance {
        id: format!("long{id}"),
        own_id: true,
        text: "w".repeat(300 * 1_024),
        speaker: "SPEAKER_00".to_owned(),
        is_user: false,
        person_id: None,
        start: 0.0,
        end: 0.0,
        provider: None,
    };
    world.on(Event::Said { utterances: (0..4).map(long).collect(), by_client: true });
    assert!(world.session.is_full());
    for _ in 0..5 {
        world.answer();
        world.now += 1.0;
        world.on(Event::Tick);
    }
    assert!(!world.session.is_full());
}

#[test]
fn live_repeated_segments_are_shown_and_start_no_conversation() {
    let mut world = World::new();
    world.answer();
    world.say(1, true);
    assert!(matches!(world.asked.take(), Some(Action::Append { began_ago: Some(_), .. })));
    world.on(Event::Repeated);
    assert_eq!(world.shown.keys().collect::<Vec<_>>(), ["s1"]);
    world.now = 1_000.0;
    world.on(Event::Tick);
    assert_eq!(world.asked, Some(Action::Renew), "an empty conversation is never admitted");
    world.answer();
    world.say(1, true);
    assert!(matches!(world.asked, Some(Action::Append { began_ago: Some(ago), .. }) if ago < 61.0));
}
