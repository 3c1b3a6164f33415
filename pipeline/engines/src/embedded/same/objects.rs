//! The word that the object of a task is a kind of.

use super::adds_nothing;

/// The last of the words behind the verb before a preposition sets in, without what only says that it is a firm or a
/// place; and who has it.
pub(super) fn head<'a>(words: impl Iterator<Item = &'a String>) -> (Option<&'a String>, Option<&'a String>) {
    let (mut head, mut owner, mut last_owner) = (None, None, None);
    for word in words {
        if head.is_some() && is_preposition(word) {
            break;
        }
        let adds_nothing = adds_nothing(word) || head.is_some() && is_body(word);
        if word.ends_with("'s") {
            last_owner = Some(word);
        } else if !adds_nothing {
            head = Some(word);
            owner = last_owner;
        }
    }
    (head, owner)
}

pub(super) fn is_preposition(word: &str) -> bool {
    matches!(
        word,
        "for"
            | "to"
            | "of"
            | "in"
            | "on"
            | "at"
            | "from"
            | "with"
            | "about"
            | "by"
            | "into"
            | "under"
            | "without"
            | "between"
            | "before"
            | "after"
            | "regarding"
            | "and"
            | "because"
            | "whether"
            | "if"
            | "that"
    )
}

/// "The insurance company" is the insurance.
fn is_body(word: &str) -> bool {
    matches!(
        word,
        "company"
            | "office"
            | "people"
            | "team"
            | "department"
            | "firm"
            | "guy"
            | "place"
            | "shop"
            | "store"
            | "membership"
            | "subscription"
    )
}
