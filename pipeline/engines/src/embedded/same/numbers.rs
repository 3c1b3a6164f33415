//! Numbers of tasks, in one way of saying them.

use std::collections::BTreeSet;

/// What has a digit.
pub(super) fn numbers(words: &[String]) -> BTreeSet<String> {
    words.iter().filter(|word| word.contains(|c: char| c.is_ascii_digit())).cloned().collect()
}

/// Numbers in digits: "four dozen" is 48, "both" are 2.
pub(super) fn in_digits(words: &mut Vec<String>) {
    const WORDS: &[&str] = &[
        "both",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ];
    const TENS: &[&str] = &["thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred"];
    for word in words.iter_mut() {
        let small = WORDS.iter().position(|known| known == word).map(|at| at + 2);
        let tens = || TENS.iter().position(|known| known == word).map(|at| 10 * (at + 3));
        let two = (word == "two").then_some(2);
        if let Some(number) = small.or(two).or_else(tens) {
            *word = number.to_string();
        }
    }
    while let Some(at) = words.iter().position(|word| word == "dozen") {
        let times = at.checked_sub(1).and_then(|at| words.get(at)?.parse::<u32>().ok());
        let from = if times.is_some() { at - 1 } else { at };
        words.splice(from..=at, [times.unwrap_or(1).saturating_mul(12).to_string()]);
    }
}
