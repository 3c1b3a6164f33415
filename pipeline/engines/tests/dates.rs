//! Scores the date phrases of `corpus/dates.txt` and `corpus/spoken_dates.txt`. All but set A were written before the
//! engine was run on them.

#![allow(clippy::unwrap_used, clippy::expect_used, dead_code, reason = "tests, with parts that others use")]

mod score;

use engines::Embedded;

#[test]
fn the_date_phrases_of_the_corpus_are_resolved() {
    for set in ["A", "B", "C"] {
        let corpus = include_str!("../corpus/dates.txt");
        let score =
            score::dates::score(&Embedded::new(), corpus, set, "2026-11-20T10:00:00Z".parse().unwrap());
        assert_eq!(score.of, 20);
        assert!(score.hits >= 18, "{score} phrases of set {set}");
    }
}

#[test]
fn dates_as_they_are_spoken_are_resolved() {
    for (set, said_at, floor) in [("O", "2027-03-09T09:00:00Z", 97), ("P", "2026-09-16T14:30:00Z", 97)] {
        let corpus = include_str!("../corpus/spoken_dates.txt");
        let score = score::dates::score(&Embedded::new(), corpus, set, said_at.parse().unwrap());
        assert_eq!(score.of, 80);
        assert!(score.percent() >= floor, "{score} phrases of set {set}, floor {floor} %");
    }
}

#[test]
fn unseen_date_phrases_are_resolved() {
    let corpus = include_str!("../corpus/unseen_dates.txt");
    let said_at = "2027-02-11T10:20:00Z".parse().unwrap();
    let score = score::dates::score(&Embedded::new(), corpus, "Q", said_at);
    assert_eq!(score.of, 49);
    assert!(score.percent() >= 93, "{score} unseen phrases");
}

#[test]
fn everyday_date_phrases_are_resolved() {
    let corpus = include_str!("../corpus/everyday_dates.txt");
    for (set, floor) in [("S", 95), ("T", 95)] {
        let said_at = "2027-06-08T15:40:00Z".parse().unwrap();
        let score = score::dates::score(&Embedded::new(), corpus, set, said_at);
        assert_eq!(score.of, 21);
        assert!(score.percent() >= floor, "{score} phrases of set {set}");
    }
}

#[test]
fn mixed_date_phrases_are_resolved() {
    let corpus = include_str!("../corpus/mixed_dates.txt");
    for (set, floor) in [("U", 91), ("V", 87)] {
        let said_at = "2027-10-13T09:20:00Z".parse().unwrap();
        let score = score::dates::score(&Embedded::new(), corpus, set, said_at);
        assert_eq!(score.of, 24);
        assert!(score.percent() >= floor, "{score} phrases of set {set}");
    }
}

#[test]
fn date_phrases_of_many_voices_are_resolved() {
    let corpus = include_str!("../corpus/voices_dates.txt");
    for (set, floor) in [("W", 91), ("X", 91)] {
        let said_at = "2027-03-09T14:10:00Z".parse().unwrap();
        let score = score::dates::score(&Embedded::new(), corpus, set, said_at);
        assert_eq!(score.of, 24);
        assert!(score.percent() >= floor, "{score} phrases of set {set}");
    }
}

#[test]
fn ordinary_date_phrases_are_resolved() {
    let corpus = include_str!("../corpus/ordinary_dates.txt");
    for (set, floor) in [("Y", 100), ("Z", 95)] {
        let said_at = "2027-05-12T09:45:00Z".parse().unwrap();
        let score = score::dates::score(&Embedded::new(), corpus, set, said_at);
        assert_eq!(score.of, 24);
        assert!(score.percent() >= floor, "{score} phrases of set {set}");
    }
}

#[test]
fn sundry_date_phrases_are_resolved() {
    let corpus = include_str!("../corpus/sundry_dates.txt");
    for (set, floor) in [("K", 95), ("L", 87)] {
        let said_at = "2027-10-05T08:30:00Z".parse().unwrap();
        let score = score::dates::score(&Embedded::new(), corpus, set, said_at);
        assert_eq!(score.of, 24);
        assert!(score.percent() >= floor, "{score} phrases of set {set}");
    }
}
