//! What the rules share that read a task out of a clause.

use std::sync::LazyLock;

use regex::Captures;

use super::{Claim, Force, filters};
use crate::embedded::lexicon::{base_of_gerund, is_task_verb};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::pattern;

/// The task of a rule, unless the words before it deny it.
pub(super) fn claim(found: &Captures<'_>, owner: Option<String>, force: Force) -> Option<Claim> {
    let task = unprogressive(&found["task"]);
    (!filters::is_undone_by(&found["before"])).then_some(Claim { task, owner, force })
}

/// "Be sending the contract" is "send the contract".
fn unprogressive(task: &str) -> String {
    let base = || {
        let (gerund, rest) = task.strip_prefix("be ")?.split_once(' ')?;
        let verb = base_of_gerund(gerund).filter(|verb| {
            is_task_verb(verb)
                && !matches!(
                    verb.as_str(),
                    "meet" | "visit" | "attend" | "start" | "play" | "run" | "walk" | "show" | "move"
                )
        })?;
        Some(format!("{verb} {rest}"))
    };
    base().unwrap_or_else(|| task.to_owned())
}

/// Whether what looks like a name begins with an article.
pub(super) fn is_article(who: &str) -> bool {
    matches!(who.split(' ').next(), Some("The" | "My" | "Our" | "Your" | "His" | "Her"))
}

/// "I order the map, the water-proof one", as some put what they will do.
pub(super) fn plain(clause: &str, speaker: Option<String>) -> Option<Claim> {
    let found = PLAIN.captures(clause).filter(|_| !HABIT.is_match(clause))?;
    Some(Claim { task: found["task"].to_owned(), owner: speaker, force: Force::Commitment })
}

static PLAIN: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:and|so|then|ok|okay|yes|good)\W+)*i\s+(?:also\s+|then\s+)?(?P<task>(?:bring|order|book|reserve|buy|send|email|mail|ask|call|ring|phone|text|print|collect|fetch)\s+(?:(?:you|him|her|them)\s+)?(?:the|an?|my|our|your|some|them|it)\b.*)$",
    )
});
static HABIT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:every|each|always|usually|often|sometimes|never|mostly|daily|weekly|and\s+(?:he|she|they|it)|when|if)\b",
    )
});
