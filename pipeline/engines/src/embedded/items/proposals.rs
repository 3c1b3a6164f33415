//! What becomes a task when another takes it up: "I'd change the chain", "maybe somebody could bring a cake", "I was thinking of
//! repainting the hall".

use std::sync::LazyLock;

use super::{Claim, Force};
use crate::embedded::lexicon::{base_of_gerund, base_of_participle, is_task_verb};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{pattern, words};

/// "I'd change the chain and the cassette": a task when another says so.
static ADVISED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>\W*(?:(?:and|so|then|well|honestly|personally)\W+)*)i(?:'d|\s+would)\s+(?:also\s+|just\s+)?(?P<task>\p{L}+\s+\p{L}.*)$",
    )
});

/// "Maybe somebody could bring a cake."
static VOLUNTEERS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>\W*(?:(?:and|so|then|well|maybe|perhaps|or)\W+)*)(?:somebody|someone|one\s+of\s+(?:us|you))\s+could\s+(?:also\s+|maybe\s+)?(?P<task>\p{L}+\s+\p{L}.*)$",
    )
});

/// What anybody may take on.
pub(super) fn volunteers(clause: &str) -> Option<Claim> {
    let found = VOLUNTEERS.captures(clause)?;
    let works = words(&found["task"]).next().is_some_and(|verb| is_task_verb(&verb));
    works.then(|| Claim { task: found["task"].to_owned(), owner: None, force: Force::Question })
}

/// "I was thinking of repainting the hallway."
static THINKS_OF: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:and|so|well|actually)\W+)*i(?:'m|\s+am|\s+was|'ve\s+been)\s+(?:just\s+)?thinking\s+(?:of|about)\s+(?P<verb>\p{L}+ing)\s+(?P<rest>\p{L}.*)$",
    )
});

/// What the speaker would do.
pub(super) fn advised(clause: &str, speaker: Option<String>) -> Option<Claim> {
    if let Some(found) = THINKS_OF.captures(clause) {
        let verb = base_of_gerund(&found["verb"].to_lowercase()).filter(|verb| is_task_verb(verb))?;
        return Some(Claim {
            task: format!("{verb} {}", &found["rest"]),
            owner: speaker,
            force: Force::Question,
        });
    }
    let found = ADVISED.captures(clause)?;
    let works = words(&found["task"]).next().is_some_and(|verb| is_task_verb(&verb));
    works.then(|| Claim { task: found["task"].to_owned(), owner: speaker, force: Force::Question })
}

/// "Have you called the bank?", "did you book the room?".
static HAVE_YOU: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>(?:(?:and|so|but|oh|ok|okay|right|hey|also|then)\W+)*)(?:(?P<have>have|has)|did)\s+(?:you|anyone|anybody|someone|somebody)\s+(?:already\s+|ever\s+|all\s+|actually\s+)?(?P<verb>\p{L}+)\s+(?P<rest>\p{L}.*?)(?:\s+(?:yet|already|then|by\s+now))?[?]*$",
    )
});

/// What a speaker asks to be done, in asking whether it is.
pub(super) fn questioned(clause: &str) -> Option<Claim> {
    let found = HAVE_YOU.captures(clause)?;
    let said = found["verb"].to_lowercase();
    let verb = match found.name("have") {
        Some(_) => base_of_participle(&said)?.to_owned(),
        None => said,
    };
    let task = format!("{verb} {}", &found["rest"]);
    is_task_verb(&verb).then_some(Claim { task, owner: None, force: Force::Question })
}
