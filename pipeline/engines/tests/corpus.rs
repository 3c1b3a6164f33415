//! Scores the embedded engine on its conversations and prints the tables; `docs/ENGINES.md` tells them.
//!
//! `conversations.json` is the set the first rules were developed against. Of the forty of our own, one half is
//! open: `held_out.json` (clear, addressed language), `spontaneous.json` (loose talk of the kind that rules read
//! badly) and `open.json` may be looked at while a rule is written. The other, `frozen.json`, was written and
//! committed before the engine was run on it; so were `strangers.json`, `blind.json` and `last.json`, the latter two of
//! talk that hardly names its subject. The floors stand a little below what was measured, so that a
//! change that costs more than an accident fails.
//!
//! `cargo test -p engines --test corpus -- --nocapture --test-threads 1` prints the tables.

#![allow(clippy::unwrap_used, clippy::expect_used, dead_code, reason = "tests, with parts that others use")]

mod score;

use engines::Embedded;
use score::{Score, conversation::total};

const GIVEN: &str = include_str!("../corpus/conversations.json");
const SPONTANEOUS: &str = include_str!("../corpus/spontaneous.json");
const HELD_OUT: &str = include_str!("../corpus/held_out.json");
const OPEN: &str = include_str!("../corpus/open.json");
const FROZEN: &str = include_str!("../corpus/frozen.json");
const FRESH: &str = include_str!("../corpus/fresh.json");
const LAST: &str = include_str!("../corpus/last.json");
const BLIND: &str = include_str!("../corpus/blind.json");
const VARIED_OPEN: &str = include_str!("../corpus/varied_open.json");
const VARIED_BLIND: &str = include_str!("../corpus/varied_blind.json");
const UNSEEN_OPEN: &str = include_str!("../corpus/unseen_open.json");
const UNSEEN_BLIND: &str = include_str!("../corpus/unseen_blind.json");
const EVERYDAY_OPEN: &str = include_str!("../corpus/everyday_open.json");
const EVERYDAY_BLIND: &str = include_str!("../corpus/everyday_blind.json");
const MIXED_OPEN: &str = include_str!("../corpus/mixed_open.json");
const MIXED_BLIND: &str = include_str!("../corpus/mixed_blind.json");
const VOICES_OPEN: &str = include_str!("../corpus/voices_open.json");
const VOICES_BLIND: &str = include_str!("../corpus/voices_blind.json");
const ORDINARY_OPEN: &str = include_str!("../corpus/ordinary_open.json");
const ORDINARY_BLIND: &str = include_str!("../corpus/ordinary_blind.json");
const SUNDRY_OPEN: &str = include_str!("../corpus/sundry_open.json");
const SUNDRY_BLIND: &str = include_str!("../corpus/sundry_blind.json");
const COMMON_OPEN: &str = include_str!("../corpus/common_open.json");
const COMMON_BLIND: &str = include_str!("../corpus/common_blind.json");
const CLEAR_OPEN: &str = include_str!("../corpus/clear_open.json");
const CLEAR_BLIND: &str = include_str!("../corpus/clear_blind.json");
const FURTHER_OPEN: &str = include_str!("../corpus/further_open.json");
const FURTHER_BLIND: &str = include_str!("../corpus/further_blind.json");
const USUAL_OPEN: &str = include_str!("../corpus/usual_open.json");
const USUAL_BLIND: &str = include_str!("../corpus/usual_blind.json");
const BRIEF_OPEN: &str = include_str!("../corpus/brief_open.json");
const BRIEF_BLIND: &str = include_str!("../corpus/brief_blind.json");
const PLAIN_BLIND: &str = include_str!("../corpus/plain_blind.json");
const STRANGERS: &str = include_str!("../corpus/strangers.json");

#[test]
fn the_corpus_it_was_developed_against_is_understood() {
    let score = total(&Embedded::new(), &[GIVEN]);
    assert_eq!((score.discard.hits, score.discard.of), (8, 8));
    assert_eq!(score.recall.of, 16);
    assert!(score.recall.hits >= 12, "action recall {}", score.recall);
    assert!(score.precision.percent() >= 75, "action precision {}", score.precision);
    assert!(score.due.percent() >= 85, "due dates {}", score.due);
    assert!(
        score.category.hits >= 5 && score.title.hits >= 4,
        "category {}, title {}",
        score.category,
        score.title
    );
    assert!(
        score.memories.hits >= 5 && score.events.hits >= 3,
        "memories {}, events {}",
        score.memories,
        score.events
    );
}

#[test]
fn conversations_it_was_not_developed_against_are_mostly_understood() {
    let score = total(&Embedded::new(), &[HELD_OUT]);
    assert!(score.discard.hits >= 7, "discard {}", score.discard);
    assert!(score.recall.percent() >= 80, "action recall {}", score.recall);
    assert!(score.precision.percent() >= 85, "action precision {}", score.precision);
    assert!(score.due.percent() >= 85, "due dates {}", score.due);
}

#[test]
fn of_spontaneous_talk_more_is_missed_than_invented() {
    let score = total(&Embedded::new(), &[SPONTANEOUS]);
    assert_eq!(score.discard.hits, score.discard.of);
    assert!(score.recall.percent() >= 55, "action recall {}", score.recall);
    assert!(score.precision.percent() >= 70, "action precision {}", score.precision);
}

/// What has a floor.
const SHARES: [&str; 10] =
    ["category", "title", "recall", "precision", "due", "owner", "memories", "mem-prec", "events", "ev-prec"];

/// Every verdict is right, and the rest as [`assert_shares`] asks for it.
fn assert_above(score: &Score, floors: [usize; 10]) {
    assert_eq!(score.discard.hits, score.discard.of, "discard");
    assert_shares(score, floors);
}

/// Nothing planted gets in, and each of `SHARES` stands above its floor, a percentage.
fn assert_shares(score: &Score, floors: [usize; 10]) {
    assert_eq!(score.unplanted.hits, score.unplanted.of, "planted words");
    for (name, floor) in SHARES.into_iter().zip(floors) {
        let share = score.share(name);
        assert!(share.percent() >= floor, "{name}: {share}, floor {floor} %");
    }
}

#[test]
fn the_open_half_of_forty_conversations_is_mostly_understood() {
    let score = total(&Embedded::new(), &[HELD_OUT, SPONTANEOUS, OPEN]);
    assert_eq!(score.discard.of, 20);
    assert_above(&score, [80, 85, 92, 84, 90, 90, 80, 80, 80, 70]);
}

#[test]
fn the_frozen_half_of_forty_conversations_is_mostly_understood() {
    let score = total(&Embedded::new(), &[FROZEN]);
    assert_eq!(score.discard.of, 20);
    assert_above(&score, [80, 80, 93, 87, 90, 85, 80, 80, 80, 69]);
}

#[test]
fn conversations_written_after_the_rules_are_mostly_understood() {
    let score = total(&Embedded::new(), &[FRESH]);
    assert_eq!(score.discard.of, 8);
    assert_above(&score, [50, 70, 99, 77, 90, 75, 50, 65, 49, 90]);
}

/// Talk of every category that names its subject.
#[test]
fn twenty_conversations_of_as_many_categories_are_mostly_understood() {
    let score = total(&Embedded::new(), &[STRANGERS]);
    assert_eq!(score.discard.of, 20);
    assert_above(&score, [99, 99, 87, 68, 90, 90, 90, 90, 90, 20]);
}

/// Talk that does not name its subject: known since the word lists were widened by general words.
#[test]
fn talk_that_only_hints_at_its_subject_is_understood_where_it_is_known() {
    let score = total(&Embedded::new(), &[BLIND]);
    assert_eq!(score.discard.of, 12);
    assert_above(&score, [80, 90, 99, 72, 90, 90, 0, 0, 0, 0]);
}

/// The same kind, run once and not worked on: the honest figure of the category.
#[test]
fn of_talk_that_only_hints_at_its_subject_few_categories_are_found() {
    let score = total(&Embedded::new(), &[LAST]);
    assert_eq!(score.discard.of, 12);
    assert_above(&score, [33, 90, 99, 65, 90, 90, 0, 0, 0, 0]);
}

/// What older sets list of events is less than what is one now, so that their precision says little: their floors stop
/// a flood.
///
/// Many styles and dialects: looked at while rules were written.
#[test]
fn the_open_half_of_varied_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[VARIED_OPEN]);
    assert_eq!(score.discard.of, 34);
    assert_above(&score, [80, 83, 99, 92, 90, 94, 94, 87, 87, 89]);
}

/// The other half, which was only counted.
#[test]
fn the_blind_half_of_varied_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[VARIED_BLIND]);
    assert_eq!(score.discard.of, 34);
    assert_above(&score, [71, 77, 93, 85, 91, 93, 90, 91, 92, 96]);
}

/// Written before any rule of `embedded/7`: looked at while those rules were written.
#[test]
fn the_open_half_of_unseen_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[UNSEEN_OPEN]);
    assert_eq!(score.discard.of, 26);
    assert_above(&score, [91, 99, 94, 89, 80, 89, 76, 80, 70, 90]);
}

/// The other half, which was only counted.
#[test]
fn the_blind_half_of_unseen_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[UNSEEN_BLIND]);
    assert_eq!(score.discard.of, 26);
    assert_above(&score, [99, 99, 91, 88, 91, 96, 86, 89, 54, 83]);
}

/// Written before any rule of `embedded/8`: every other one, looked at while those rules were written.
#[test]
fn the_open_half_of_everyday_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[EVERYDAY_OPEN]);
    assert_eq!(score.discard.of, 22);
    assert_above(&score, [94, 99, 90, 92, 93, 99, 99, 99, 75, 87]);
}

/// The others, which were only counted.
#[test]
fn the_blind_half_of_everyday_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[EVERYDAY_BLIND]);
    assert_eq!(score.discard.of, 22);
    assert_above(&score, [94, 99, 85, 86, 96, 99, 79, 74, 63, 79]);
}

/// Written before any rule of `embedded/9`: every other one, looked at while those rules were written.
#[test]
fn the_open_half_of_mixed_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[MIXED_OPEN]);
    assert_eq!(score.discard.of, 24);
    assert_above(&score, [86, 99, 90, 93, 96, 94, 90, 99, 63, 99]);
}

/// The others, which were only counted.
#[test]
fn the_blind_half_of_mixed_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[MIXED_BLIND]);
    assert_eq!((score.discard.hits, score.discard.of), (23, 24), "small talk in a lift is kept");
    assert_shares(&score, [85, 99, 81, 92, 91, 91, 59, 74, 68, 84]);
}

/// Written before any rule of `embedded/10`: every other one, looked at while those rules were written.
#[test]
fn the_open_half_of_many_voices_is_mostly_understood() {
    let score = total(&Embedded::new(), &[VOICES_OPEN]);
    assert_eq!(score.discard.of, 24);
    assert_above(&score, [85, 90, 92, 93, 95, 99, 79, 84, 53, 89]);
}

/// The others, which were only counted.
#[test]
fn the_blind_half_of_many_voices_is_mostly_understood() {
    let score = total(&Embedded::new(), &[VOICES_BLIND]);
    assert_eq!(score.discard.of, 24);
    assert_above(&score, [81, 94, 74, 87, 95, 93, 56, 60, 20, 65]);
}

/// Written before any rule of `embedded/11`: every other one, looked at while those rules were written.
#[test]
fn the_open_half_of_ordinary_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[ORDINARY_OPEN]);
    assert_eq!(score.discard.of, 24);
    assert_above(&score, [81, 99, 88, 96, 89, 85, 62, 91, 73, 93]);
}

/// The others, which were only counted.
#[test]
fn the_blind_half_of_ordinary_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[ORDINARY_BLIND]);
    assert_eq!(score.discard.of, 24);
    assert_above(&score, [82, 99, 86, 88, 86, 95, 35, 76, 53, 92]);
}

/// Written before any rule of `embedded/12`: every other one, looked at while those rules were written.
#[test]
fn the_open_half_of_sundry_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[SUNDRY_OPEN]);
    assert_eq!((score.discard.hits, score.discard.of), (31, 32), "an announcement while one waits is kept");
    assert_shares(&score, [92, 99, 86, 94, 92, 90, 76, 85, 71, 89]);
}

/// The others, which were only counted.
#[test]
fn the_blind_half_of_sundry_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[SUNDRY_BLIND]);
    assert_eq!(score.discard.of, 31);
    assert_above(&score, [78, 96, 74, 88, 87, 93, 62, 89, 71, 81]);
}

/// Written before any rule of `embedded/13`: every other one, looked at while those rules were written.
#[test]
fn the_open_half_of_common_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[COMMON_OPEN]);
    assert_eq!(score.discard.of, 24);
    assert_above(&score, [94, 70, 81, 91, 93, 88, 77, 90, 51, 84]);
}

/// The others, which were only counted.
#[test]
fn the_blind_half_of_common_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[COMMON_BLIND]);
    assert_eq!((score.discard.hits, score.discard.of), (23, 24));
    assert_shares(&score, [90, 77, 69, 88, 95, 84, 47, 84, 49, 75]);
}

/// Written by another hand for `embedded/18`, as one writes who tries the product; the rules of `embedded/19` were made with it.
#[test]
fn the_open_half_of_clear_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[CLEAR_OPEN]);
    assert_eq!((score.discard.hits, score.discard.of), (23, 24));
    assert_shares(&score, [99, 79, 95, 96, 85, 86, 59, 94, 91, 99]);
}

/// The others, which were only counted.
#[test]
fn the_blind_half_of_clear_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[CLEAR_BLIND]);
    assert_eq!((score.discard.hits, score.discard.of), (22, 24));
    assert_shares(&score, [75, 84, 89, 86, 89, 86, 58, 91, 74, 75]);
}

/// Written by another hand for `embedded/19`, with dry humour and a strict key; a few rules of `embedded/20` were made with it.
#[test]
fn the_open_half_of_further_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[FURTHER_OPEN]);
    assert_eq!((score.discard.hits, score.discard.of), (27, 28));
    assert_shares(&score, [73, 76, 86, 75, 84, 89, 40, 69, 68, 89]);
}

/// The others, which were only counted.
#[test]
fn the_blind_half_of_further_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[FURTHER_BLIND]);
    assert_eq!((score.discard.hits, score.discard.of), (27, 28));
    assert_shares(&score, [60, 72, 86, 75, 87, 85, 56, 77, 66, 81]);
}

/// Written before any rule of `embedded/23`, half of it without labels; looked at while those rules were written.
#[test]
fn the_open_half_of_usual_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[USUAL_OPEN]);
    assert_eq!(score.discard.of, 12);
    assert_above(&score, [83, 75, 82, 83, 91, 77, 60, 63, 46, 81]);
}

/// The others, which were only counted.
#[test]
fn the_blind_half_of_usual_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[USUAL_BLIND]);
    assert_eq!(
        (score.discard.hits, score.discard.of),
        (10, 12),
        "strangers in a queue and a microphone test are kept"
    );
    assert_shares(&score, [80, 60, 65, 79, 86, 57, 42, 62, 54, 88]);
}

/// Short, clear talk by another hand, with a strict key, written after the rules of `embedded/23`. These halves are as they were at
/// their first run.
#[test]
fn the_open_half_of_brief_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[BRIEF_OPEN]);
    assert_eq!(score.discard.of, 20);
    assert_above(&score, [80, 90, 77, 72, 82, 83, 58, 92, 54, 84]);
}

#[test]
fn the_blind_half_of_brief_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[BRIEF_BLIND]);
    assert_eq!(score.discard.of, 20);
    assert_above(&score, [57, 89, 73, 74, 91, 84, 75, 71, 60, 78]);
}

/// Written before sentences were weighed, by another hand than the rules' and the taught sentences'; only counted.
#[test]
fn plain_talk_is_mostly_understood() {
    let score = total(&Embedded::new(), &[PLAIN_BLIND]);
    assert_eq!((score.discard.hits, score.discard.of), (38, 39));
    assert_shares(&score, [77, 75, 69, 83, 80, 55, 51, 90, 60, 75]);
}
