//! A request and the promise that answers it, in other words.

use super::Task;

/// Verbs that leave open how a thing is got, or what is done to it.
const VAGUE: &[&str] = &["provide", "get", "do", "sort", "sort out", "make", "arrange", "handle", "find"];
/// Ways in which one person lets another have a thing.
const GIVES: &[&str] = &[
    "send", "give", "bring", "email", "mail", "write", "show", "share", "hand", "forward", "upload",
    "deliver", "post", "text",
];
/// Ways to put a thing in order.
const MENDS: &[&str] = &[
    "check", "review", "clean", "clean up", "tidy", "tidy up", "update", "fix", "sort", "sort out",
    "correct", "edit", "revise", "repair",
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

    /// Whether a promise, `other`, takes this request on: its words are all in the request, and its verb is the request's, or
    /// one of them leaves open what is done. What a promise adds may be a task of its own.
    pub(in crate::embedded) fn is_taken_on_by(&self, other: &Self) -> bool {
        let verbs = [self.verb.as_str(), other.verb.as_str()];
        let one_thing = match (&self.head, &other.head) {
            (Some(one), Some(two)) => {
                one == two || MEASURES.contains(&one.as_str()) && self.object.contains(two)
            }
            _ => false,
        };
        let vague = verbs.iter().any(|verb| VAGUE.contains(verb))
            || [GIVES, MENDS].iter().any(|ways| verbs.iter().all(|verb| ways.contains(verb)));
        (one_thing && vague || self.verbs_agree(other))
            && !other.object.is_empty()
            && other.object.is_subset(&self.object)
            && self.negative == other.negative
            && self.names_agree(other)
            && (self.numbers.is_empty() || other.numbers.is_empty() || self.numbers == other.numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_and_its_promise_are_one_task_and_what_a_promise_adds_is_another() {
        for (asked, promised, same) in [
            ("Provide three months of payslips", "Send you the payslips", true),
            ("Get a plumber to look", "Ring a plumber", true),
            ("Wash the bibs mate they stink", "Wash the bibs", true),
            ("Review my request", "Do the request", true),
            ("Pick up drinks", "Do soft drinks", false),
            ("Print the contract", "Read the contract", false),
            ("Send the report to Tom", "Email the report to Anna", false),
            ("Provide the toner for the printer", "Fix the printer", false),
        ] {
            assert_eq!(Task::of(asked).is_taken_on_by(&Task::of(promised)), same, "{asked} / {promised}");
        }
    }
}
