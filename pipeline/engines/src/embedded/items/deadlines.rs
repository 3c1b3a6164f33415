//! What is to be in some state, handed in, paid or delivered by a day.

use std::sync::LazyLock;

use regex::Captures;

use super::{Claim, Force, claims, filters};
use crate::embedded::lexicon::{PAYABLES, base_of_participle, is_person, is_stop_word};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{decapitalised, pattern, words};

static DUE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>.*?)\b(?P<what>(?:(?:the|our|my|your|this|his|her|their|that|those)\s+)?(?:[\p{L}\d'-]+(?:,\d+)?\s+){0,3}?[\p{L}\d-]+)(?:'s|\s+is|\s+are)\s+due\b(?:(?P<back>\s+back\b)|(?P<in>\s+in\b))?(?P<rest>.*)$",
    )
});

static WANTED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"^(?P<before>.*?)(?P<who>(?:(?i:the|my|our|your|his|her)\s\p{Ll}+|\p{Lu}\p{Ll}+)(?:\s\p{Lu}\p{Ll}+)?)\s+(?:wants|expects|needs|requires|would\s+like|asked\s+for|is\s+asking\s+for|is\s+expecting|is\s+waiting\s+for)\s+(?P<what>(?:it|them|the|our|my|your|an?|some|all|more|both|two|three|four|five|six|ten|\d+|proof|evidence|copies|everything)\b.+)$",
    )
});

/// In what a thing is to be by a day.
pub(super) const STATES: &[&str] = &[
    "ready",
    "complete",
    "finished",
    "clean",
    "tidy",
    "empty",
    "available",
    "online",
    "live",
    "open",
    "full",
    "clear",
    "accurate",
    "visible",
    "clickable",
    "legible",
    "up",
];

/// "The numbers need to be ready by Friday": somebody makes sure of it.
pub(super) fn ready(found: &Captures<'_>) -> Option<Claim> {
    let what = found["what"].trim();
    let be = if what.ends_with('s') && !what.ends_with("ss") { "are" } else { "is" };
    let task = format!("make sure {} {be} {}{}", decapitalised(what), &found["done"], &found["rest"]);
    (!filters::is_undone_by(&found["before"])).then_some(Claim { task, owner: None, force: Force::Demand })
}

/// "It'd be great if the prototype was clickable by Friday".
static WISHED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>.*?)\b(?:great|good|nice|helpful|lovely|ideal|perfect|brilliant|better|best)\s+if\s+(?P<what>(?:the|our|my|your|his|her|their|all|those|these)\s+(?:[\p{L}\d'-]+\s+){1,4}?)(?:was|were|could\s+be|is|are)\s+(?P<done>\p{L}+)(?P<rest>.*)$",
    )
});

/// What would be good to have by a day.
pub(super) fn wished(clause: &str) -> Option<Claim> {
    let found = WISHED.captures(clause)?;
    let state = found["done"].to_lowercase();
    let Some(verb) = base_of_participle(&state) else { return ready(&found) };
    let task = format!("{verb} {}{}", decapitalised(found["what"].trim()), &found["rest"]);
    (!filters::is_undone_by(&found["before"])).then_some(Claim { task, owner: None, force: Force::Request })
}

/// "The rent is due on Monday": pay the rent. Other things are completed.
pub(super) fn due(clause: &str) -> Option<Claim> {
    let found = DUE.captures(clause)?;
    let what = found["what"].trim();
    if found.name("back").is_some() {
        let task = format!("return {}{}", decapitalised(what), &found["rest"]);
        return (!filters::is_undone_by(&found["before"])).then_some(Claim {
            task,
            owner: None,
            force: Force::Obligation,
        });
    }
    let first = words(what).next().unwrap_or_default();
    let arrives = |last: String| is_person(&last) || ARRIVES.contains(&last.as_str());
    if words(what).last().is_some_and(arrives) {
        return None;
    }
    if is_stop_word(&first) && !DETERMINERS.contains(&first.as_str()) {
        return None;
    }
    if found.name("in").is_some() || words(what).last().is_some_and(|last| HANDED_IN.contains(&last.as_str()))
    {
        let task = format!("hand in {}{}", decapitalised(what), &found["rest"]);
        return (!filters::is_undone_by(&found["before"])).then_some(Claim {
            task,
            owner: None,
            force: Force::Demand,
        });
    }
    let payable = words(what).any(|word| PAYABLES.contains(&word.as_str()));
    let verb = if payable { "pay" } else { "complete" };
    let task = format!("{verb} {} due{}", decapitalised(what), &found["rest"]);
    (!filters::is_undone_by(&found["before"])).then_some(Claim { task, owner: None, force: Force::Demand })
}

const DETERMINERS: &[&str] = &["the", "our", "my", "your", "this", "his", "her", "their", "that", "those"];
/// What comes by itself when it is due.
const ARRIVES: &[&str] = &[
    "baby",
    "twins",
    "train",
    "bus",
    "plane",
    "flight",
    "ferry",
    "delivery",
    "parcel",
    "order",
    "snow",
    "rain",
    "storm",
    "results",
    "booster",
    "jab",
    "inspection",
    "service",
    "meeting",
    "break",
    "visit",
    "election",
    "change",
];
/// What is handed in when it is due.
const HANDED_IN: &[&str] = &[
    "form",
    "forms",
    "essay",
    "essays",
    "homework",
    "assignment",
    "assignments",
    "report",
    "reports",
    "paper",
    "application",
    "coursework",
    "draft",
    "thesis",
    "slip",
    "worksheet",
    "timesheet",
    "timesheets",
    "claim",
];

static SERVICE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:an?|another)\s+(?:[\p{L}-]+\s+){0,2}(?:change|service|repair|check|check-up|inspection|replacement|clean|wash|haircut|battery|part|coat)\b",
    )
});
/// "The client wants the proposal by Friday": deliver the proposal to the client.
pub(super) fn wanted(clause: &str) -> Option<Claim> {
    let found = WANTED.captures(clause)?;
    let who = &found["who"];
    let first = who.split(' ').next().unwrap_or_default();
    if filters::is_undone_by(&found["before"])
        || (is_stop_word(&first.to_lowercase()) && who.split(' ').count() < 2)
    {
        return None;
    }
    let what = found["what"].trim_end_matches(['.', '!', ' ']);
    let who = if claims::is_article(who) { decapitalised(who) } else { who.to_owned() };
    Some(Claim {
        // "The car needs an oil change."
        task: if SERVICE.is_match(what) {
            format!("get {what} for {who}")
        } else {
            format!("deliver {what} to {who}")
        },
        owner: None,
        force: Force::Demand,
    })
}
