//! What the rules share that read a task out of a clause.

use regex::Captures;

use super::{Claim, Force, filters};
use crate::embedded::lexicon::{base_of_gerund, is_task_verb};

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
