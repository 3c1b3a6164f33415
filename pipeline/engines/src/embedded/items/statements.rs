//! Tasks that are stated: what the speaker, the group or a third person takes on or has to do.

use std::sync::LazyLock;

use regex::Captures;

use super::contact::HELPS;
use super::orders::ATTENTION;
use super::requests::{ADVERBS, is_name};
use super::{Claim, Force, claims, deadlines, filters, proposals, shortages, unfinished};
use crate::embedded::lexicon::{
    base_of_gerund, base_of_participle, is_advice_verb, is_person, is_stop_word, is_task_verb,
};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{decapitalised, pattern, words};

static MINE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i)^(?P<before>.*?)\b(?:(?P<offer>shall\s+i)|let\s+me|i{ADVERBS_BEFORE}(?:(?P<wish>'d\s+like\s+to|\s+would\s+like\s+to|\s+(?:also\s+|really\s+|just\s+)?want\s+to)|(?:'ll|\s+will)\s+(?:also\s+|still\s+|then\s+)?(?:have|need)\s+to|'m\s+having\s+to|'ve\s+to|'ll|\s+will|\s+shall|\s+(?:still\s+|also\s+|really\s+)?(?:need|have|ought|plan|intend|promised?|agreed)\s+to|\s+promised\s+\p{{L}}+\s+to|\s+(?:promised|told)\s+(?:(?:my|the|our)\s+)?\p{{L}}+\s+(?:that\s+)?i(?:'d|'ll|\s+would|\s+will)|\s+said\s+(?:that\s+)?i(?:'d|\s+would)|\s+(?:always\s+|still\s+)?keep\s+forgetting\s+to|'ve\s+been\s+meaning\s+to|'m\s+to|\s+must|\s+should|\s+(?:gotta|have\s+got\s+to)|'ve\s+(?:still\s+|also\s+)?(?:got|promised|agreed)\s+to|(?:'ve|\s+have)?\s+promised\s+(?:my|our|the)\s+\p{{L}}+\s+to|'ve\s+promised\s+\p{{L}}+\s+to|(?:'m|\s+am)\s+(?:also\s+|still\s+|just\s+|only\s+|definitely\s+)?(?:going|supposed|planning|meant|due)\s+to|\s+keep\s+meaning\s+to|(?:'ve|\s+have)\s+yet\s+to|'m\s+(?:gonna|fixing\s+to|off\s+to)|\s+(?:better|gonna)|'d\s+better))\s+{ADVERBS}(?P<task>\p{{L}}.*)$",
        ADVERBS_BEFORE = r"(?:\s+(?:still|also|really|definitely|probably))?"
    ))
});
/// "Need to pay the bill": notes leave the speaker out.
static UNSAID: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i)^(?P<before>\W*(?:(?:also|and|so|oh|ok|okay|then|but|still)[,\s]+)*)(?:need\s+to|have\s+to|got\s+to|gotta|must|ought\s+to)\s+{ADVERBS}(?P<task>\p{{L}}.*)$"
    ))
});
static OURS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i)^(?P<before>.*?)\b(?:(?P<agreed>it\s+was\s+(?:decided|agreed)\s+(?:that\s+we|to)|we(?:'ve)?\s+(?:all\s+)?agreed\s+(?:to|that\s+we))|(?:told|promised)\s+(?:\p{{L}}+\s+){{1,3}}?(?:that\s+)?we(?:'d|\s+would)|we(?:(?:'ll|\s+will)\s+(?:also\s+|still\s+)?(?:have|need)\s+to|'d\s+better|'ll|'ve\s+(?:still\s+|also\s+)?got\s+to|'re\s+to|'re\s+(?:going|supposed)\s+to|\s+(?:{ADVERBS}(?:need\s+to|have\s+to|ought\s+to|should|must|will|shall|are\s+going\s+to|are\s+supposed\s+to|gotta))))\s+{ADVERBS}(?P<task>\p{{L}}.*)$"
    ))
});
/// "I'm picking up the cake at five": counts with a date.
static DOING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>.*?)\b(?:i'm|i\s+am|i'll\s+be|i\s+will\s+be|i(?:'m\s+planning|\s+plan)\s+on)\s+(?P<verb>\p{L}+ing)\s+(?P<rest>\p{L}.*)$",
    )
});
/// "I can bring the projector on Friday": counts with a date, or when it is accepted.
static OFFERED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(r"(?i)^(?P<before>.*?)\bi\s+(?:can|(?P<could>could))\s+{ADVERBS}(?P<task>\p{{L}}.*)$"))
});
/// "I need the figures by Friday": a demand of the speaker's.
static NEEDED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>.*?)\b(?:what\s+i\s+need\s+(?:from\s+you|now|next|first)?\s*is|(?:i|we)(?:'ll|'d|\s+will|\s+would|'m\s+going\s+to|'re\s+going\s+to)?\s+(?:still\s+|also\s+)?(?:need|want|like)|(?:can|could|may)\s+(?:i|we)\s+(?:please\s+)?(?:have|get|see))\s+(?P<what>(?:the|your|those|all|that|an?|some|another|everything|at\s+least|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|forty|fifty|\d+)\b.+)$",
    )
});
/// "The lawn needs mowing".
static NEEDS_DOING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>.*?)\b(?P<what>(?:the|our|my|your|his|her|their|this|that|all|both|those|these)\s+(?:[\p{L}\d'-]+\s+){1,4}?|(?:someone|somebody|everything|\p{L}{3,}s|(?-i:\p{Lu}\p{L}+(?:\.?\s\p{Lu}\p{L}+)?))\s+)(?:still\s+|also\s+|really\s+|just\s+|only\s+)*(?:needs?|wants?|requires?|could\s+do\s+with|could\s+use)\s+(?:(?:an?|another)\s+)?(?:good\s+|quick\s+|new\s+)?(?P<verb>\p{L}+)\b(?P<rest>.*)$",
    )
});
/// "Let's", "could we", "you can", "who can": counts with a date, or when it is taken on.
static LETS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"(?i)^(?P<before>.*?)\b(?:let's|(?:can|could|shall|should)\s+we|why\s+don't\s+(?:we|i)|(?P<may>you\s+can)(?:\s+just|\s+then)?|we\s+can|you\s+could|who(?:'s\s+going\s+to|\s+is\s+going\s+to|\s+can|\s+will|\s+could|\s+wants\s+to)|who(?P<gerund>'s|\s+is))\s+{ADVERBS}(?P<task>\p{{L}}.*)$"
    ))
});
/// "I want the timeline written up by noon", "I'd like these two boxes moved".
static WANT_DONE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>.*?)\b(?:(?:i|we)(?:'d|\s+would)?\s+(?:want|need|like)|(?:he|she|it|(?P<theirs>(?:the|my|our)\s+\p{L}+))\s+(?:wants|needs)|^\W*(?:also\s+|and\s+|still\s+)?needs|they\s+(?:want|need))\s+(?P<what>(?:the|our|my|your|his|her|their|this|that|all|those|these|both)\s+(?:[\p{L}\d'-]+\s+){1,4}?|(?:it|them|this|that|everything)\s+)(?P<done>\p{L}{2,}(?:ed|en|wn)|sent|bought|paid|done|made|built|rebuilt|brought|sold|told|set|cut|fed|read|run|shown|found|taught)(?P<rest>(?:\W.*)?)$",
    )
});
/// "You'll have the texts by noon", "I'll have them by Friday": what the speaker will deliver.
static PROMISED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>.*?)\b(?:(?:you|i|they)(?:'ll|\s+will)\s+(?:have|get)|you\s+can\s+have)\s+(?P<what>it|them|that|those|(?:the|my|our)\s+(?:[\p{L}-]+\s+){0,2}?[\p{L}-]+)\s+(?:to\s+you\s+|for\s+you\s+|ready\s+)?(?P<rest>(?:by|before|tomorrow|tonight|no\s+later|(?:on\s+)?\p{L}+day)\b.*)$",
    )
});
static THEIRS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(&format!(
        r"^(?P<before>(?:.*?(?:[,;:]\s+|\b(?:[Aa]nd|[Ss]o|[Tt]hen|but|that|think|said|says|because)\s+))??)(?P<who>(?:(?:Dr|Mr|Mrs|Ms|Prof)\.?\s)?\p{{Lu}}(?:\p{{Ll}}+|\p{{Lu}}+)(?:\s\p{{Lu}}\p{{Ll}}+)?|(?i:my|our|your|his|her|the)\s\p{{L}}+|\p{{Ll}}+)(?:'ll|'s\s+(?:got|going|supposed|agreed|promised|offered|volunteered)\s+to|(?:'s|\s+is)\s+gonna|\s+has\s+got\s+to|\s+(?:has|have)\s+(?:kindly\s+|also\s+|already\s+)?(?:agreed|promised|offered|volunteered)\s+to|\s+(?:also\s+|still\s+)?(?:needs\s+to|has\s+to|said\s+(?:he|she|they)(?:'d|'ll|\s+would|\s+will)|(?P<isto>is\s+to|are\s+to)|should|will|must|is\s+going\s+to|is\s+supposed\s+to|agreed\s+to|promised\s+to|offered\s+to|volunteered\s+to|ought\s+to))\s+{ADVERBS}(?P<task>\p{{Ll}}.*)$"
    ))
});
static PASSIVE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>.*?)\b(?P<what>(?:the|our|my|your|his|her|their|its|an?|this|that|all|both|those|these)\s+(?:[\p{L}\d'-]+\s+){1,5}?|\p{L}{3,}s\s+|(?:it|they)\s+)(?:still\s+|also\s+)?(?:(?:needs?|has|have|'s\s+got|got)\s+to|'s\s+to|is\s+to|are\s+to|must|should)\s+be\s+(?P<done>\p{L}+)(?P<rest>.*)$",
    )
});
/// "Lea to send the minutes by Friday", as minutes put it.
static ASSIGNED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"^(?P<before>(?:.*[:.;]\s+|[-*•\d.)\s]+)?)(?P<who>(?:(?:Dr|Mr|Mrs|Ms|Prof)\.?\s)?\p{Lu}(?:\p{Ll}+|\p{Lu}+)(?:\s\p{Lu}\p{Ll}+|\s\p{Ll}+s)?)\s+to\s+(?P<task>\p{Ll}.*)$",
    )
});
/// "Dana sends the contract by Friday": counts with a date.
static ASSIGNS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"^(?P<before>(?:.*?(?:[,;:]\s+|\b(?:and|but|so|then)\s+))??)(?P<who>(?:(?:Dr|Mr|Mrs|Ms|Prof)\.?\s)?\p{Lu}\p{Ll}+)\s+(?P<verb>\p{Ll}+s)\s+(?P<rest>(?:the|a|an|all|our|your|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|forty|fifty|some|more|us|\d+)\s.*)$",
    )
});

/// "Do you want me to ring them?", "should I book the cab?": a task when another speaker accepts it.
static OFFERED_TO: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>.*?)\b(?:(?:do|would)\s+you\s+(?:want|like|prefer)\s+me\s+to|should\s+i|do\s+i\s+(?:have|need)\s+to)\s+(?P<task>\p{L}.*)$",
    )
});

/// "If you send me the pictures": what a promise waits for.
static IN_RETURN: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:and\s+|but\s+)?if\s+you\s+(?P<task>\p{L}+\s+(?:me|us|at|after|the|your|a|an|some|those|these)\b.*)$",
    )
});

/// What a speaker offers in a question.
pub(super) fn offered_to(clause: &str, speaker: Option<String>) -> Option<Claim> {
    // "I'll do the flights if you look at cars": the other may agree.
    if let Some(found) = IN_RETURN.captures(clause) {
        let mut words = words(&found["task"]);
        let verb = words.next().unwrap_or_default();
        let known = is_task_verb(&verb) || matches!(verb.as_str(), "look" | "give" | "bring");
        // "I can write the captions, if you send me the pictures."
        let handed = matches!(
            verb.as_str(),
            "send" | "give" | "bring" | "mail" | "email" | "text" | "forward" | "lend"
        ) && matches!(words.next().as_deref(), Some("me" | "us"))
            && !ATTENTION.is_match(&found["task"]);
        let force = if handed { Force::Request } else { Force::Question };
        return known.then(|| Claim { task: found["task"].to_owned(), owner: None, force });
    }
    let found = OFFERED_TO.captures(clause).filter(|_| clause.ends_with('?'))?;
    claims::claim(&found, speaker, Force::Question)
}

/// The task that a clause states.
pub(super) fn read(clause: &str, speaker: Option<String>, question: bool) -> Option<Claim> {
    if let Some(found) = UNSAID.captures(clause) {
        return claims::claim(&found, speaker, Force::Commitment).filter(|_| !question);
    }
    if let Some(found) = PROMISED.captures(clause).filter(|_| !question) {
        let task = format!("deliver {} {}", &found["what"], &found["rest"]);
        return (!filters::is_undone_by(&found["before"])).then_some(Claim {
            task,
            owner: speaker,
            force: Force::Commitment,
        });
    }
    if let Some(found) = MINE.captures(clause).filter(|found| !is_hearsay(clause, &found["before"])) {
        let offered = found.name("offer").is_some();
        let force = if found.name("wish").is_some() { Force::Wish } else { Force::Commitment };
        // "I'll want the figures by Friday" asks another.
        if matches!(words(&found["task"]).next().as_deref(), Some("need" | "want")) {
            return needed(clause);
        }
        // "Let me know by Friday" asks another.
        if let Some(task) = asked_for_oneself(&found) {
            return Some(task);
        }
        return claims::claim(&found, speaker, force).filter(|_| !question || offered);
    }
    if question {
        return suggested(clause).or_else(|| needed(clause));
    }
    passive(clause)
        .or_else(|| deadlines::wished(clause))
        .or_else(|| shortages::left(clause))
        .or_else(|| deadlines::due(clause))
        .or_else(|| theirs(clause))
        .or_else(|| {
            let found = OURS.captures(clause)?;
            // What was agreed on is a decision, and a task with a verb of tasks or a date.
            let agreed = found.name("agreed").is_some();
            let invites = agreed && words(&found["task"]).next().is_some_and(|verb| is_task_verb(&verb));
            let force = if agreed && !invites { Force::Suggestion } else { Force::Obligation };
            claims::claim(&found, None, force)
        })
        .or_else(|| suggested(clause))
        .or_else(|| want_done(clause))
        .or_else(|| unfinished::undone(clause, speaker.clone()))
        .or_else(|| needs_doing(clause))
        .or_else(|| doing(clause, speaker.clone()))
        .or_else(|| claims::plain(clause, speaker.clone()))
        .or_else(|| offered(clause, speaker.clone()))
        .or_else(|| proposals::advised(clause, speaker.clone()))
        .or_else(|| proposals::volunteers(clause))
        .or_else(|| shortages::read(clause, speaker.clone()))
        .or_else(|| needed(clause))
        .or_else(|| assigns(clause))
        .or_else(|| deadlines::wanted(clause))
        .or_else(|| unfinished::theirs_in_hand(clause))
}

/// "Let me know", "let me have the figures".
fn asked_for_oneself(found: &Captures<'_>) -> Option<Claim> {
    let lets = found.get(0)?.as_str().get(found["before"].len()..)?.to_lowercase().starts_with("let me ");
    let verb = words(&found["task"]).next()?;
    let asks = lets && matches!(verb.as_str(), "know" | "have");
    let task = format!("let me {}", &found["task"]);
    (asks && !filters::is_undone_by(&found["before"])).then_some(Claim {
        task,
        owner: None,
        force: Force::Request,
    })
}

fn suggested(clause: &str) -> Option<Claim> {
    let found = LETS.captures(clause)?;
    if found.name("gerund").is_some() {
        let (verb, rest) = found["task"].split_once(' ')?;
        let verb = base_of_gerund(&verb.to_lowercase()).filter(|verb| is_task_verb(verb) || verb == "do")?;
        let task = format!("{verb} {rest}");
        return Some(Claim { task, owner: None, force: Force::Suggestion });
    }
    let known = words(&found["task"]).next().is_some_and(|verb| is_task_verb(&verb));
    let lets = clause.to_lowercase().contains("let's");
    // "You can collect it from Ingrid": what one has to do where one wants the thing.
    if found.name("may").is_some() && !clause.ends_with('?') && FETCHES.is_match(&found["task"]) {
        return claims::claim(&found, None, Force::Request);
    }
    // "Let's order a second printer": a decision about a thing.
    if lets && !clause.ends_with('?') && DECIDES.is_match(&found["task"]) {
        return claims::claim(&found, None, Force::Obligation).filter(|_| known);
    }
    claims::claim(&found, None, Force::Suggestion).filter(|_| known || lets)
}

static DECIDES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:order|book|buy|send|ask|invite|write|add|remove|replace|cancel|schedule|renew|paint|plant|clean|fix|repair|organise|organize|arrange|print|update|archive|delete|postpone|hire|rent|test|document|change|move|put)\s+(?:the|an?|some|our|all|two|three|another|(?-i:\p{Lu})\p{L}+)\b",
    )
});

static FETCHES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:collect|pick\s+(?:it|them|that|up)|return|send|email|e-mail|post|register|apply|pay|book|download|fill|drop|bring|ring|call|phone)\b",
    )
});

fn want_done(clause: &str) -> Option<Claim> {
    let found = WANT_DONE.captures(clause)?;
    let verb = base_of_participle(&found["done"].to_lowercase())?;
    // "I want the song in the set."
    let what = found["what"].trim();
    if what.rsplit(' ').next().is_some_and(|last| is_stop_word(&last.to_lowercase())) && what.contains(' ') {
        return None;
    }
    let task = format!("{verb} {}{}", decapitalised(what), &found["rest"]);
    let stands = !filters::is_undone_by(&found["before"]);
    // "The council wants the bridge finished by May": what others want counts with a deadline.
    let force = if found.name("theirs").is_some() { Force::Demand } else { Force::Obligation };
    stands.then_some(Claim { task, owner: None, force })
}

/// What the speaker is about to do, with a verb of tasks.
fn doing(clause: &str, speaker: Option<String>) -> Option<Claim> {
    let found = DOING.captures(clause)?;
    let verb = base_of_gerund(&found["verb"].to_lowercase()).filter(|verb| {
        (is_task_verb(verb) || verb == "do" && found["rest"].starts_with("the "))
            && !matches!(
                verb.as_str(),
                "move" | "visit" | "meet" | "attend" | "start" | "play" | "run" | "walk" | "show" | "train"
            )
    })?;
    let task = format!("{verb} {}", &found["rest"]);
    let stands = !filters::is_undone_by(&found["before"]);
    // "I'm bringing a lasagne."
    let brings = matches!(
        verb.as_str(),
        "bring"
            | "bake"
            | "cook"
            | "make"
            | "buy"
            | "get"
            | "do"
            | "collect"
            | "write"
            | "finish"
            | "prepare"
            | "order"
            | "book"
            | "organise"
            | "organize"
            | "pay"
            | "send"
    ) && matches!(words(&found["rest"]).next().as_deref(), Some("the" | "some" | "a" | "my"));
    let force = if brings { Force::Commitment } else { Force::Suggestion };
    stands.then_some(Claim { task, owner: speaker, force })
}

/// "My sister says I should take pills": what others think right. What they say that one needs is a task.
fn is_hearsay(clause: &str, before: &str) -> bool {
    let claim = clause.get(before.len()..).unwrap_or_default().to_lowercase();
    claim.starts_with("i should") && HEARSAY.is_match(before)
}

static HEARSAY: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:says|said|thinks|reckons|keeps\s+(?:saying|telling\s+me)|tells\s+me|told\s+me)(?:\s+that)?\s*,?\s*$",
    )
});

fn offered(clause: &str, speaker: Option<String>) -> Option<Claim> {
    let found = OFFERED.captures(clause)?;
    let works = words(&found["task"]).next().is_some_and(|verb| is_task_verb(&verb))
        || HELPS.is_match(&found["task"])
        || filters::is_chore(&found["task"]);
    let force = if found.name("could").is_some() { Force::Question } else { Force::Suggestion };
    claims::claim(&found, speaker, force).filter(|_| works)
}

fn assigns(clause: &str) -> Option<Claim> {
    let found = ASSIGNS.captures(clause)?;
    let (who, form) = (&found["who"], &found["verb"]);
    let stems = [form.strip_suffix('s'), form.strip_suffix("es")];
    let verb = stems.into_iter().flatten().find(|verb| is_task_verb(verb))?;
    let named = who.split(' ').all(is_name) && !claims::is_article(who);
    let task = format!("{verb} {}", &found["rest"]);
    (named && !filters::is_undone_by(&found["before"])).then(|| Claim {
        task,
        owner: Some(who.to_owned()),
        force: if HABITUAL.is_match(clause) { Force::Demand } else { Force::Obligation },
    })
}

/// "Tom fixes the cars every week" assigns nothing.
static HABITUAL: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:every|each|always|usually|never|often|sometimes|\p{L}+days|when|if|who|that|which)\b")
});

/// What is done to a thing, and its noun: "the floor needs a mop".
const LIGHT: &[&str] = &[
    "trim", "wash", "clean", "wipe", "mop", "polish", "service", "dust", "sweep", "iron", "rinse", "scrub",
    "tidy", "prune", "tune", "hoover", "brush", "water", "feed", "shave", "mend", "sand", "sort", "oil",
    "check",
];

fn decapitalised_article(what: &str) -> String {
    if claims::is_article(what) { decapitalised(what) } else { what.to_owned() }
}

static NEEDS_IT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\bi(?:'ll|'d|\s+will|\s+would)?\s+(?:still\s+|also\s+)?need\s+(?:the|an?|that|those|all|another|two|three|four|everything)\b",
    )
});

fn needed(clause: &str) -> Option<Claim> {
    let found = NEEDED.captures(clause)?;
    let task = format!("provide {}", &found["what"]);
    // "I need your passport number": what the other alone has.
    let theirs = found["what"].to_lowercase().starts_with("your ");
    // "I need a courtesy car, too": one who says "I need" asks for it.
    let wanted = NEEDS_IT.is_match(clause);
    let force = if theirs || wanted { Force::Request } else { Force::Demand };
    (!filters::is_undone_by(&found["before"])).then_some(Claim { task, owner: None, force })
}

fn needs_doing(clause: &str) -> Option<Claim> {
    let found = NEEDS_DOING.captures(clause)?;
    let said = found["verb"].to_lowercase();
    let noun = LIGHT.contains(&said.as_str()) && found.get(0)?.as_str().contains(&format!("a {said}"));
    let verb = base_of_gerund(&said)
        .filter(|verb| is_task_verb(verb) || LIGHT.contains(&verb.as_str()))
        .or_else(|| base_of_participle(&said).map(str::to_owned))
        .or_else(|| noun.then(|| said.clone()))?;
    let what = found["what"].trim();
    // "The hedge doesn't need trimming."
    if what.rsplit(' ').next().is_some_and(|last| last.ends_with("n't") || last == "never") {
        return None;
    }
    let named = is_name(what.split(' ').next().unwrap_or_default());
    let what = if named { decapitalised_article(what) } else { decapitalised(what) };
    let task = format!("{verb} {what}{}", &found["rest"]);
    let stands = !filters::is_undone_by(&found["before"]);
    stands.then_some(Claim { task, owner: None, force: Force::Obligation })
}

/// A person by name, a person's brother, or a department. Of a thing nothing is expected.
fn theirs(clause: &str) -> Option<Claim> {
    let found = THEIRS.captures(clause).or_else(|| ASSIGNED.captures(clause))?;
    let who = &found["who"];
    let named =
        who.starts_with(char::is_uppercase) && who.split(' ').all(is_name) && !claims::is_article(who);
    let known = named
        || who
            .split(' ')
            .next_back()
            .is_some_and(|last| !is_stop_word(&last.to_lowercase()) && last.len() > 2);
    // "The plan is to order more" charges no plan with it.
    let charged = found.name("isto").is_none()
        || named
        || who
            .split(' ')
            .next_back()
            .is_some_and(|last| is_person(&last.to_lowercase()) || !who.contains(' '))
            && !PLANS.contains(&who.to_lowercase().as_str());
    let verb = words(&found["task"]).next()?;
    // Whom a third person visits or meets is an event.
    let charged = charged && !matches!(verb.as_str(), "visit" | "meet" | "attend");
    let leads =
        matches!(verb.as_str(), "look" | "own" | "handle" | "lead" | "manage" | "oversee" | "run" | "head");
    let works = is_task_verb(&verb) || is_advice_verb(&verb) || filters::is_chore(&found["task"]);
    // "The council's going to read the meter" is news.
    let between = clause
        .get(found.name("who").map_or(0, |who| who.end())..found.name("task").map_or(0, |task| task.start()));
    let foretold = !named && between.is_some_and(|between| FORETELLS.is_match(between));
    if !charged || !known || foretold || !(works || leads) {
        return None;
    }
    claims::claim(&found, Some(who.to_owned()).filter(|_| named), Force::Obligation)
}

static FORETELLS: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)\bsaid\s+(?:he|she|they)(?:'d|'ll|\s+would|\s+will)\b"));

/// What consists in doing something.
const PLANS: &[&str] = &[
    "plan", "idea", "goal", "aim", "point", "thing", "step", "job", "task", "trick", "answer", "solution",
    "key", "rule", "way", "purpose", "option", "hope", "dream", "deal", "priority", "focus", "what", "mine",
    "all", "best", "work",
];

/// "The domain must be renewed": renew the domain.
fn passive(clause: &str) -> Option<Claim> {
    let found = PASSIVE.captures(clause)?;
    let state = found["done"].to_lowercase();
    if deadlines::STATES.contains(&state.as_str()) && !found["what"].trim_end().eq_ignore_ascii_case("it") {
        return deadlines::ready(&found);
    }
    let verb = base_of_participle(&state)?;
    let what = match found["what"].trim().to_lowercase().as_str() {
        "they" => "them".to_owned(),
        _ => decapitalised(found["what"].trim()),
    };
    let task = format!("{verb} {what}{}", &found["rest"]);
    (!filters::is_undone_by(&found["before"])).then_some(Claim {
        task,
        owner: None,
        force: Force::Obligation,
    })
}
