//! Numbers of tasks, in one way of saying them.

use std::collections::BTreeSet;

use crate::embedded::dates::number_word;

/// What has a digit.
pub(super) fn numbers(words: &[String]) -> BTreeSet<String> {
    words.iter().filter(|word| word.contains(|c: char| c.is_ascii_digit())).cloned().collect()
}

/// Numbers in digits: "four dozen" is 48, "both" are 2.
pub(super) fn in_digits(words: &mut Vec<String>) {
    for word in words.iter_mut() {
        let number = match word.as_str() {
            "one" => None,
            "both" => Some(2),
            "hundred" => Some(100),
            word => number_word(word),
        };
        if let Some(number) = number {
            *word = number.to_string();
        }
    }
    while let Some(at) = words.iter().position(|word| word == "dozen") {
        let times = at.checked_sub(1).and_then(|at| words.get(at)?.parse::<u32>().ok());
        let from = if times.is_some() { at - 1 } else { at };
        words.splice(from..=at, [times.unwrap_or(1).saturating_mul(12).to_string()]);
    }
}
