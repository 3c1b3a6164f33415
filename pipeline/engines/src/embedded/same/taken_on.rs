//! A request and the promise that answers it, in other words.

use super::Task;

/// Verbs that leave open how a thing is got, or what is done to it.
const VAGUE: &[&str] = &["provide", "get", "do", "sort", "sort out", "make", "arrange", "handle", "find"];
/// Ways in which one person lets another have a thing.
const GIVES: &[&str] = &[
    "send", "give", "bring", "email", "mail", "write", "show", "share", "hand", "forward", "upload",
    "deliver", "post", "text",
];
/// What a number is of: "three months of payslips" are payslips.
const MEASURES: &[&str] = &[
    "month", "week", "copi", "copy", "coupl", "couple", "pair", "set", "list", "kilo", "bottle", "box",
    "page", "version",
];

impl Task {
    /// "Provide the form": a promise says it better.
    pub(in crate::embedded) fn leaves_open(&self) -> bool {
        VAGUE.contains(&self.verb.as_str())
    }

    /// Whether a promise, `other`, takes this request on: what "provide", "get" and "do" ask for is said by its verb, or its
    /// words are all in the request.
    pub(in crate::embedded) fn is_taken_on_by(&self, other: &Self) -> bool {
        let verbs = [self.verb.as_str(), other.verb.as_str()];
        let about = match (&self.head, &other.head) {
            (Some(one), Some(two)) => {
                one == two || MEASURES.contains(&one.as_str()) && self.object.contains(two)
            }
            _ => false,
        };
        let vague =
            verbs.iter().any(|verb| VAGUE.contains(verb)) || verbs.iter().all(|verb| GIVES.contains(verb));
        let repeated =
            self.verbs_agree(other) && !other.object.is_empty() && other.object.is_subset(&self.object);
        (about && (vague || self.verbs_agree(other)) || repeated)
            && self.negative == other.negative
            && self.names_agree(other)
            && (self.numbers.is_empty() || other.numbers.is_empty() || self.numbers == other.numbers)
    }
}
