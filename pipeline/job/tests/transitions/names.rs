//! Names that are kept outside: ids, statuses, codes.

use std::collections::HashSet;

use job::{FailureCode, JobId, Origin, Outcome, Queue};

#[test]
fn job_id_is_stable() {
    // Computed apart, with another implementation of SHA-256.
    let known = [
        ("user", "conversation", 1, "fj_04f8996d3fb3d2ce76a6b7ee94a69eea5ae9caf8"),
        ("user", "conversation", 2, "fj_04f8996d40507e3bc2b6e73880fe6def5a1ee3b4"),
        ("Jürgen", "018f", 7, "fj_c58fb672a73af913e2b2743db015c8da099501eb"),
    ];
    for (user, conversation, revision, expected) in known {
        let id = JobId::derive(user, conversation, revision);
        assert_eq!(id.as_str(), expected);
        assert_eq!(id.to_string(), expected);
        assert_eq!(id, JobId::from_text(expected));
    }
}

#[test]
fn job_ids_of_a_user_share_only_their_prefix() {
    let (one, two) = (JobId::derive("user", "a", 1), JobId::derive("user", "b", 1));
    assert_eq!(one.as_str()[..11], two.as_str()[..11]);
    assert_ne!(one, two);
    assert_ne!(one.as_str()[..11], JobId::derive("other", "a", 1).as_str()[..11]);
}

#[test]
fn job_id_input_is_unambiguous() {
    assert_ne!(JobId::derive("user", "a1", 1).as_str()[11..], JobId::derive("user", "a", 11).as_str()[11..]);
    assert_ne!(JobId::derive("ab", "c", 1).as_str()[11..], JobId::derive("a", "bc", 1).as_str()[11..]);
}

#[test]
fn names_are_unique_and_parse_back() {
    for code in FailureCode::ALL {
        assert_eq!(FailureCode::from_name(code.as_str()), Some(*code));
    }
    let names: HashSet<_> = FailureCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(names.len(), FailureCode::ALL.len());
    assert!(Origin::ALL.iter().all(|origin| Origin::from_name(origin.as_str()) == Some(*origin)));
    assert!(Queue::ALL.iter().all(|queue| Queue::from_name(queue.as_str()) == Some(*queue)));
    assert!(Outcome::ALL.iter().all(|outcome| Outcome::from_name(outcome.as_str()) == Some(*outcome)));
    assert_eq!(FailureCode::from_name("Model_Timeout"), None);
}
