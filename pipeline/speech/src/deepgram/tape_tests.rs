//! The tape against connections that are lost at any time.

#![allow(clippy::cast_possible_truncation, reason = "tests")]

use proptest::prelude::*;

use super::*;

const SECOND: u64 = RATE as u64;

fn second(at: u64) -> (u64, Vec<i16>) {
    (at * SECOND, vec![at as i16; RATE as usize])
}

fn record(tape: &mut Tape, seconds: std::ops::Range<u64>) {
    for at in seconds {
        let (at, samples) = second(at);
        tape.record(at, &samples, Instant::now());
    }
}

/// The seconds of audio that are sent now.
fn sent(tape: &mut Tape) -> Vec<u64> {
    let mut timeline = Timeline::default();
    let mut seconds = Vec::new();
    while let Some(outgoing) = tape.next(&mut timeline, Instant::now()) {
        if let Outgoing::Audio(bytes, _) = outgoing {
            seconds.extend(bytes.chunks(2 * RATE as usize).map(|second| u64::from(second[0])));
        }
    }
    seconds
}

#[tokio::test]
async fn tape_replays_audio_without_final_results_after_a_reconnect() {
    let mut tape = Tape::new(1, &Held::new(usize::MAX));
    record(&mut tape, 0..5);
    assert_eq!(sent(&mut tape), [0, 1, 2, 3, 4]);
    tape.settle(2 * SECOND + SECOND / 2);
    assert_eq!(tape.unsettled(), 5 * SECOND / 2);
    tape.rewind();
    record(&mut tape, 5..6);
    assert_eq!(sent(&mut tape), [2, 3, 4, 5]);
    tape.settle(6 * SECOND);
    tape.rewind();
    assert_eq!(sent(&mut tape), Vec::<u64>::new());
    assert!(tape.is_idle());
}

#[tokio::test]
async fn tape_flush_behind_a_remainder_is_done_when_the_connection_is_given_back() {
    let mut tape = Tape::new(1, &Held::new(usize::MAX));
    tape.record(0, &[1; RATE as usize / 2], Instant::now());
    sent(&mut tape);
    tape.flush();
    sent(&mut tape);
    assert!(tape.is_idle());
    assert_eq!(tape.forget(), 1, "a request waits for it");
    assert!(tape.items.is_empty(), "nothing is left");
}

#[tokio::test]
async fn tape_flush_is_done_after_the_audio_before_it() {
    let mut tape = Tape::new(1, &Held::new(usize::MAX));
    tape.flush();
    assert_eq!(tape.settle(0).flushed, 1, "nothing was said");
    record(&mut tape, 0..2);
    tape.pause();
    tape.flush();
    record(&mut tape, 10..11);
    sent(&mut tape);
    assert_eq!(tape.settle(SECOND).flushed, 0);
    assert_eq!(tape.first_finalize(), Some(2 * SECOND));
    assert_eq!(tape.settle(2 * SECOND).flushed, 1);
    assert_eq!(tape.unsettled(), SECOND);
    assert!(!tape.answer_flush(Instant::now()), "it was settled");
    tape.flush();
    assert!(!tape.answer_flush(Instant::now()), "it was not sent");
    sent(&mut tape);
    assert!(tape.answer_flush(Instant::now()) && !tape.answer_flush(Instant::now()));
}

#[tokio::test]
async fn tape_keeps_a_minute_and_drops_unsent_audio_beyond() {
    let mut tape = Tape::new(1, &Held::new(usize::MAX));
    record(&mut tape, 0..70);
    assert_eq!(tape.take_lost(), [Gap { start: 0.0, end: 10.0, reason: Reason::Overloaded }]);
    assert_eq!(sent(&mut tape), (10..70).collect::<Vec<_>>());
}

#[tokio::test]
async fn tape_drops_sent_audio_only_with_its_connection() {
    let mut tape = Tape::new(1, &Held::new(usize::MAX));
    record(&mut tape, 0..60);
    sent(&mut tape);
    record(&mut tape, 60..65);
    assert_eq!(tape.take_lost(), []);
    tape.rewind();
    assert_eq!(tape.take_lost(), [Gap { start: 0.0, end: 5.0, reason: Reason::Overloaded }]);
    sent(&mut tape);
    record(&mut tape, 65..70);
    tape.settle(70 * SECOND);
    tape.rewind();
    assert_eq!(tape.take_lost(), [], "it became final after all");
}

#[tokio::test]
async fn tape_drops_the_oldest_audio_over_the_shared_limit() {
    let held = Held::new(20 * RATE as usize * 2);
    let (mut one, mut two) = (Tape::new(1, &held), Tape::new(1, &held));
    record(&mut one, 0..10);
    record(&mut two, 0..15);
    assert_eq!(one.take_lost(), [], "it has heard nothing since");
    assert_eq!(two.take_lost(), [Gap { start: 0.0, end: 5.0, reason: Reason::Overloaded }]);
    drop(one);
    record(&mut two, 15..25);
    assert_eq!(two.take_lost(), []);
}

proptest! {
    #[test]
    fn any_second_of_audio_is_final_lost_or_kept(steps in prop::collection::vec((0_u8..6, 1_u64..20), 1..60)) {
        let mut tape = Tape::new(2, &Held::new(usize::MAX));
        let (mut clock, mut is_final) = (0_u64, 0_u64);
        let mut lost = Vec::new();
        let mut timeline = Timeline::default();
        for (step, amount) in steps {
            match step {
                0 | 1 => for _ in 0..amount {
                    tape.record(clock * SECOND, &vec![0; 2 * RATE as usize], Instant::now());
                    clock += 1;
                },
                2 => while tape.next(&mut timeline, Instant::now()).is_some() {},
                3 => {
                    let sent = clock.min(is_final + amount);
                    if tape.unsettled() >= (sent - is_final) * SECOND {
                        tape.settle(sent * SECOND);
                        is_final = sent;
                    }
                }
                4 => tape.rewind(),
                _ => { tape.give_up(false, Reason::Timeout); }
            }
            prop_assert!(tape.held.samples() <= MOST);
            let gaps = tape.take_lost();
            lost.extend(gaps.iter().map(|gap| gap.end - gap.start));
            prop_assert!(gaps.iter().all(|gap| gap.start < gap.end));
        }
        tape.give_up(true, Reason::Timeout);
        tape.rewind();
        lost.extend(tape.take_lost().iter().map(|gap| gap.end - gap.start));
        prop_assert_eq!(tape.held.samples(), 0);
        let lost: f64 = lost.iter().sum();
        prop_assert!(lost <= seconds(clock * SECOND) + 1e-6, "nothing is lost twice: {} of {}", lost, clock);
    }
}
