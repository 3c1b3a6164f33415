//! Words that wait: to be stored, or to be recognized.

use live::{Action, Conversation, Event, Session, Timing, Utterance};

const TIMING: Timing = Timing { silence: 120.0, longest: 14_400.0, apart: 0.6, renew: 10.0 };

/// Words that a client has recognized.
fn said(many: usize) -> Event {
    let utterance = |number: usize| Utterance {
        id: format!("s{number}"),
        own_id: false,
        text: "Yes.".to_owned(),
        speaker: "SPEAKER_00".to_owned(),
        is_user: false,
        person_id: None,
        start: 0.0,
        end: 0.5,
        provider: None,
    };
    Event::Said { utterances: (0..many).map(utterance).collect(), by_client: true }
}

fn opened() -> Event {
    Event::Opened(Conversation { id: "c".to_owned(), began_ago: None, silent_for: 0.0, pictured: false })
}

/// A frame of 64 KiB holds two thousand of them, and a ledger takes five hundred at a time.
#[test]
fn live_session_with_very_many_words_that_wait_is_full() {
    let (mut session, _) = Session::begin(TIMING);
    for _ in 0..5 {
        session.on(said(2_000), 0.0);
        assert!(!session.is_full());
    }
    session.on(said(1), 0.0);
    assert!(session.is_full(), "its words are 40 KB, and take megabytes");
    assert!(matches!(session.on(opened(), 0.0).as_slice(), [Action::Append { .. }]));
    assert!(!session.is_full());
}

/// A slow speech server: the last words came after the silence that ends a conversation, and began another one.
#[test]
fn live_conversation_lasts_while_its_last_words_are_recognized_a_minute_at_most() {
    for come in [true, false] {
        let (mut session, _) = Session::begin(TIMING);
        session.on(opened(), 0.0);
        session.on(said(1), 0.0);
        session.on(Event::Appended(vec![Some(0)]), 0.0);
        session.recognizing(true);
        for now in [119.0, 150.0, 179.0] {
            assert_eq!(session.on(Event::Tick, now), [Action::Renew], "no other process ends it: {now}");
            assert_eq!(session.on(Event::Renewed, now), []);
        }
        if come {
            let appended = session.on(said(1), 179.0);
            assert!(
                matches!(appended.as_slice(), [Action::Append { began_ago: None, .. }]),
                "they are in it"
            );
            session.on(Event::Appended(vec![Some(0)]), 179.0);
            session.recognizing(false);
        }
        let end = if come { 179.0 + 120.0 } else { 180.0 };
        assert_eq!(session.on(Event::Tick, end), [Action::Admit], "{come}");
    }
}
