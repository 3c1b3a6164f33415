//! Tasks that are said to be unfinished, forgotten or in hand.

use std::sync::LazyLock;

use super::requests::is_name;
use super::{Claim, Force, claims, filters};
use crate::embedded::lexicon::{base_of_gerund, base_of_participle, base_of_past, is_person, is_task_verb};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{pattern, words};

/// "I still haven't called the bank", "I haven't paid the fine yet".
static UNDONE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>.*?)\b(?:i|we)(?:(?P<still>\s+still)?\s+(?:haven't|have\s+not)|(?P<not>(?:'ve|\s+have)\s+still\s+not))\s+(?P<done>\p{L}+)\s+(?P<rest>\p{L}.*)$",
    )
});
/// "I haven't got round to fixing the fence".
static PUT_OFF: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>.*?)\b(?:i|we)\s+(?:still\s+)?(?:haven't|have\s+not)\s+(?:yet\s+)?(?:got|gotten|come)\s+(?:round|around)\s+to\s+(?P<verb>\p{L}+ing)\s+(?P<rest>\p{L}.*?)(?:\s+yet)?\W*$",
    )
});
/// "I forgot to ring the dentist": a task when somebody takes it on.
static FORGOTTEN: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>.*?)\bi\s+(?:(?:totally|completely|clean|just|also)\s+)?(?:forgot|meant|was\s+(?:going|meant|supposed))\s+to\s+(?P<task>\p{L}.*)$",
    )
});
/// "I should have called her back", "I never sent that email": tasks when somebody takes them on.
static REGRETTED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:.*?)\bi\s+(?:should've|should\s+have|never|didn't\s+actually)\s+(?P<done>\p{L}+)\s+(?P<rest>\p{L}.*)$",
    )
});
/// "Sam is bringing the projector on Friday": counts with a date.
static IN_HAND: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"^(?P<before>(?:.*?(?:[,;:]\s+|\b(?i:and|but|so|then)\s+))??)(?:\p{Lu}\p{Ll}+\s+and\s+)?(?P<who>\p{Lu}\p{Ll}+|(?i:my|our)\s\p{Ll}+)(?:'s|\s+is|\s+are|'ll\s+be|\s+will\s+be)\s+(?P<verb>\p{Ll}+ing)\s+(?P<rest>\p{L}.*)$",
    )
});

/// What the speaker says to be still undone.
pub(super) fn undone(clause: &str, speaker: Option<String>) -> Option<Claim> {
    if let Some(found) = FORGOTTEN.captures(clause) {
        return claims::claim(&found, speaker, Force::Question);
    }
    if let Some(found) = REGRETTED.captures(clause) {
        let verb = base_of_participle(&found["done"].to_lowercase())
            .or_else(|| base_of_past(&found["done"].to_lowercase()))?;
        let task = format!("{verb} {}", &found["rest"]);
        return Some(Claim { task, owner: speaker, force: Force::Question });
    }
    if let Some(found) = PUT_OFF.captures(clause) {
        let verb = base_of_gerund(&found["verb"].to_lowercase()).filter(|verb| is_task_verb(verb))?;
        let task = format!("{verb} {}", &found["rest"]);
        return Some(Claim { task, owner: speaker, force: Force::Commitment });
    }
    let found = UNDONE.captures(clause)?;
    let rest = found["rest"].trim_end_matches(['.', '!', ' ']);
    let bare = rest.strip_suffix(" yet").or_else(|| rest.strip_suffix(" either"));
    if found.name("still").or_else(|| found.name("not")).is_none() && bare.is_none() {
        return None;
    }
    let verb = base_of_participle(&found["done"].to_lowercase())?;
    let task = format!("{verb} {}", bare.unwrap_or(rest));
    let stands = !filters::is_undone_by(&found["before"]);
    stands.then_some(Claim { task, owner: speaker, force: Force::Commitment })
}

/// What another has in hand.
pub(super) fn theirs_in_hand(clause: &str) -> Option<Claim> {
    let found = IN_HAND.captures(clause).filter(|found| is_someone(&found["who"]))?;
    // "Sarah's doing the flowers."
    let chore = found["verb"].eq_ignore_ascii_case("doing") && found["rest"].starts_with("the ");
    let named = is_name(&found["who"]) && !found["who"].contains(' ');
    let verb = base_of_gerund(&found["verb"]).filter(|verb| {
        (is_task_verb(verb) || chore)
            && !matches!(
                verb.as_str(),
                "move"
                    | "turn"
                    | "visit"
                    | "meet"
                    | "attend"
                    | "start"
                    | "play"
                    | "run"
                    | "walk"
                    | "show"
                    | "read"
                    | "present"
                    | "speak"
            )
    })?;
    let task = format!("{verb} {}", &found["rest"]);
    // "Sarah's bringing the cake."
    let brings = matches!(
        verb.as_str(),
        "bring"
            | "bake"
            | "cook"
            | "make"
            | "buy"
            | "get"
            | "collect"
            | "organise"
            | "organize"
            | "book"
            | "order"
            | "drive"
    ) && matches!(words(&found["rest"]).next().as_deref(), Some("the" | "some" | "a" | "us"));
    let force = if chore || brings { Force::Obligation } else { Force::Suggestion };
    let owner = Some(found["who"].to_owned()).filter(|_| named);
    (!filters::is_undone_by(&found["before"])).then_some(Claim { task, owner, force })
}

/// A name, or one of the speaker's people.
fn is_someone(who: &str) -> bool {
    match who.split_once(' ') {
        Some((_, kin)) => is_person(kin),
        None => is_name(who) && !claims::is_article(who),
    }
}
