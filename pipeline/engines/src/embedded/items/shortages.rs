//! What is missing, and what is left to do: "we're out of milk", "the kids need new shoes", "there's the loft to clear".

use std::sync::LazyLock;

use super::{Claim, Force, filters};
use crate::embedded::lexicon::{
    Listed, WordList, base_of_participle, is_person, is_stop_word, is_task_verb, trades,
};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{decapitalised, pattern, words};

/// "We're nearly out of milk", "I've run out of stamps".
static OUT_OF: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>.*?)\b(?:(?:the|our|my)\s+\p{L}+(?:'s|\s+is|\s+are)\s+(?:\p{L}+\s+)?out\s+of|(?:there's|we've|i've|we've\s+got|^)\s*no\s+(?:more\s+)?(?P<none>(?:\p{L}+\s+){1,3}?)left|(?:we|i)(?:'re|'m|\s+are|\s+am)\s+(?:\p{L}+\s+){0,2}?(?:out\s+of|(?:running\s+)?(?:low\s+on|short\s+of))|(?:we|i)(?:'ve|\s+have)\s+(?:\p{L}+\s+)?run\s+out\s+of)(?:\s+(?P<what>\p{L}.*)|\W.*)?$",
    )
});
/// "We need boxes", "the kids need new shoes", "you'll need an adapter".
static NEED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>.*?)\b(?P<who>i|we|you'll|we'll|i'll|he|she|they|(?:the|my|our)\s+\p{L}+)\s+(?:(?:also|still|really|definitely|just|both|all|will)\s+)*(?:needs?|could\s+do\s+with)\s+(?P<what>(?:an?|some|more|new|another|two|three|four|five|six|ten|twelve|a\s+couple\s+of|a\s+few|loads\s+of|our\s+own)\s+\p{L}.*|(?:\p{L}+\s+)?(?:milk|bread|butter|sugar|flour|rice|pasta|cheese|oil|petrol|diesel|fuel|cash|paint|glue|soap|shampoo|toothpaste|detergent|paper|ink|wine|beer|juice|cream|yoghurt|honey|jam|fish|chicken|garlic|compost|cement|timber|string|rope|firewood|litter|food|bait|toner|foil|sellotape|flowers)\b.*|\p{L}+s\b.*)$",
    )
});
/// "There's the insurance to sort out".
static LEFT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>.*?)\b(?:there(?:'s|'re|\s+is|\s+are)|(?:i|we)(?:'ve|\s+have|\s+still\s+have)(?:\s+(?:still\s+|also\s+)?got)?)\s+(?:still\s+|also\s+)*(?P<what>(?:the|our|my|your|an?|all|two|three|four|five|\d+)\s+(?:[\p{L}\d'-]+\s+){1,4}?)(?:still\s+)?(?:left\s+)?to\s+(?P<verb>\p{L}+)(?P<rest>.*)$",
    )
});
/// "The bill still hasn't been paid".
static UNDONE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>.*?)\b(?P<what>(?:the|our|my|your|his|her|their|this|that|those|these)\s+(?:[\p{L}\d'-]+\s+){1,4}?)(?:'s\s+|\s*)(?P<still>still\s+)?(?:not\s+been|hasn't|haven't|has\s+not|have\s+not|isn't|aren't)\s+(?:been\s+)?(?P<done>\p{L}+)(?P<yet>\s+yet)?\b(?P<rest>.*)$",
    )
});
/// "The form has to be back by Friday", "the essays must be in on Monday".
static BACK: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>.*?)\b(?P<what>(?:the|our|my|your|his|her|their|this|that|those|these)\s+(?:[\p{L}\d'-]+\s+){1,3}?|(?:it|that|they|those)\s+)(?:needs?\s+to|has\s+to|have\s+to|(?:has|have|'ve|'s)\s+got\s+to|must|should|is\s+to|are\s+to|'s\s+to)\s+(?:be|go|come)\s+(?P<way>back|in|out|with\s+(?:me|us|them))\b(?P<rest>.*)$",
    )
});
/// "There's a form you need to fill in".
static PENDING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>.*?)\b(?P<what>(?:the|an?|my|your|our|some|two|three)\s+(?:[\p{L}-]+\s+){1,6}?)(?:that\s+|which\s+)?(?:you|we|i)\s+(?:still\s+|also\s+)?(?:need|have)\s+to\s+(?P<verb>\p{L}+)(?P<particle>\s+(?:in|out|up|off|back|down))?(?P<rest>\s+(?:by|before|on|this|next|tomorrow|today|tonight|at)\b.*|,?\s+and\s+the\s+.*)?\W*$",
    )
});
/// "The rears are still to do", "the garage is still to be cleared".
static STILL_TO: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<before>.*?)\b(?P<what>(?:the|our|my|your|his|her|their|those|these|two|three|some)?\s*(?:[\p{L}\d'-]+\s+){1,4}?)(?:are|is|'s)\s+still\s+(?:left\s+)?to\s+(?:be\s+)?(?P<verb>\p{L}+)(?P<rest>\b.*)$",
    )
});

/// What is named first, and what is to be done with it then.
pub(super) fn pending(clause: &str) -> Option<Claim> {
    let found = PENDING.captures(clause)?;
    let part = |name: &str| found.name(name).map_or("", |part| part.as_str());
    let known = is_task_verb(&found["verb"].to_lowercase()) && thing(&found["what"]).is_some();
    let task = format!(
        "{}{} {}{}",
        &found["verb"],
        part("particle"),
        decapitalised(found["what"].trim()),
        part("rest")
    );
    (known && !filters::is_undone_by(&found["before"])).then(|| obligation(task, None))
}

/// What one needs and cannot get in a shop, and what a person needs of others.
static ABSTRACT: WordList = WordList::new(
    "time times help money space room more less luck sleep rest break breaks holiday holidays drink coffee tea hug plan plans \
    idea ideas answer answers decision decisions information info details detail advice support love attention care patience \
    energy work job jobs people person someone somebody volunteer volunteers team hand hands favour favor minute minutes second \
    moment bit lot reason reasons chance word words way ways change changes hour hours day days week weeks month months year \
    years proof evidence context approval permission input feedback clarity focus options option choice strategy leader leaders investors \
    investment data numbers funding budget growth customers users test tests experience skills training rules trust respect order \
    steam breath control date office town here touch practice convincing thing things one ones start point lie-down laugh life consent \
    warmth light air sun rain exercise surgery operation scan numbers number signature deposit deadline friend friends child children \
    man woman men women is was needs goes does has its this us always sometimes perhaps yes versus than chains woods blue question ordinary hand date sight mind",
);

/// Where the thing ends.
static ENDS: WordList = WordList::new(
    "for and but so because before after by until if when or to from at in on with that which who as then though since once while not now too anyway please",
);

/// With an article, only what is new or comes in packs is bought.
fn is_bought(said: &str) -> bool {
    let mut all = words(said);
    let first = all.next().unwrap_or_default();
    let counted = matches!(first.as_str(), "a" | "an" | "two" | "three" | "four" | "five");
    let kinds = [
        "new",
        "spare",
        "replacement",
        "fresh",
        "pack",
        "box",
        "bottle",
        "bag",
        "roll",
        "tin",
        "coat",
        "couple",
        "few",
    ];
    !counted || all.next().is_some_and(|second| kinds.contains(&second.as_str()))
}

/// What a speaker is short of.
pub(super) fn read(clause: &str, speaker: Option<String>) -> Option<Claim> {
    if let Some(found) = OUT_OF.captures(clause) {
        let said = found.name("none").or_else(|| found.name("what"))?.as_str();
        // One needs a coffee and runs out of coffee.
        let drink = matches!(words(said).next().as_deref(), Some("coffee" | "tea"));
        let what = thing(said).or_else(|| words(said).next().filter(|_| drink))?;
        return (!filters::is_undone_by(&found["before"])).then(|| obligation(format!("get {what}"), None));
    }
    let found = NEED.captures(clause)?;
    let who = found["who"].to_lowercase();
    if filters::is_undone_by(&found["before"]) || is_stop_word(&who) && !OWN.contains(&who.as_str()) {
        return None;
    }
    let said = &found["what"];
    let what = thing(said)?;
    // "We need a bigger sponsor", "two more volunteers" are wishes; "a new battery" is bought.
    let trade = words(&what).last().is_some_and(|last| trades().any(|trade| trade == last));
    let urgent = trade && matches!(who.as_str(), "i" | "i'll" | "you'll")
        || matches!(who.as_str(), "i" | "we") && clause.to_lowercase().contains("still need");
    if !urgent && !is_bought(said) {
        return None;
    }
    let rest = said.get(said.find(&what)? + what.len()..).unwrap_or_default();
    let owner = speaker.filter(|_| who == "i" || who == "i'll");
    let task = match who.as_str() {
        "i" | "we" | "you'll" | "we'll" | "i'll" | "he" | "she" | "they" => format!("get {what}{rest}"),
        _ => format!("get {what} for {}{rest}", decapitalised_article(&found["who"])),
    };
    Some(obligation(task, owner))
}

const OWN: &[&str] = &["i", "we", "you'll", "we'll", "i'll", "he", "she", "they"];

/// What is left to do.
pub(super) fn left(clause: &str) -> Option<Claim> {
    let stands = |before: &str| !filters::is_undone_by(before);
    if let Some(found) = LEFT.captures(clause) {
        let real = thing(&found["what"]).is_some();
        let verb = found["verb"].to_lowercase();
        let known = real && (is_task_verb(&verb) || verb == "do") && stands(&found["before"]);
        let rest = &found["rest"];
        let (particle, rest) = ["out", "up", "off", "in", "through"]
            .iter()
            .find_map(|particle| Some((*particle, rest.trim_start().strip_prefix(particle)?)))
            .map_or((String::new(), rest), |(particle, rest)| (format!(" {particle}"), rest));
        let task = format!("{}{particle} {}{rest}", &found["verb"], decapitalised(found["what"].trim()));
        return known.then(|| obligation(task, None));
    }
    if let Some(found) = BACK.captures(clause) {
        let what = decapitalised(found["what"].trim());
        let back = found["way"].eq_ignore_ascii_case("back");
        if !back && matches!(what.as_str(), "it" | "that" | "they" | "those") {
            return None;
        }
        let task = match found["way"].to_lowercase().as_str() {
            "back" => format!("return {what}{}", &found["rest"]),
            "in" => format!("hand in {what}{}", &found["rest"]),
            "out" => format!("send out {what}{}", &found["rest"]),
            with => format!("get {what} to {}{}", with.trim_start_matches("with").trim(), &found["rest"]),
        };
        // "The invitations have to go out two weeks before."
        let firm = back && found["what"].contains(' ') && found["what"].trim().contains(' ');
        let upright =
            found["rest"].trim_start().starts_with("up") || found["rest"].trim_start().starts_with("on");
        let force = if firm && !upright || found["way"].eq_ignore_ascii_case("out") {
            Force::Obligation
        } else {
            Force::Demand
        };
        return stands(&found["before"]).then_some(Claim { task, owner: None, force });
    }
    if let Some(found) = STILL_TO.captures(clause) {
        let said = found["verb"].to_lowercase();
        let verb = match said.as_str() {
            "do" | "go" | "come" => "do",
            _ if is_task_verb(&said) => said.as_str(),
            _ => base_of_participle(&said)?,
        };
        let task = format!("{verb} {}{}", decapitalised(found["what"].trim()), &found["rest"]);
        return stands(&found["before"]).then(|| obligation(task, None));
    }
    let found = UNDONE.captures(clause)?;
    if found.name("still").is_none() && found.name("yet").is_none() || !stands(&found["before"]) {
        return None;
    }
    let verb = base_of_participle(&found["done"].to_lowercase())?;
    Some(obligation(format!("{verb} {}{}", decapitalised(found["what"].trim()), &found["rest"]), None))
}

fn obligation(task: String, owner: Option<String>) -> Claim {
    Claim { task, owner, force: Force::Obligation }
}

/// The noun phrase with which `said` begins, if it is a thing that can be got.
fn thing(said: &str) -> Option<String> {
    let ends = |word: &str| {
        let plain = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'').to_lowercase();
        ENDS.has(&plain)
    };
    let mut kept = Vec::new();
    for word in said.split_whitespace() {
        if ends(word) || kept.len() == 6 {
            break;
        }
        kept.push(word.trim_end_matches([',', '.', '!', ';']));
        if word.ends_with([',', '.', '!', ';']) {
            break;
        }
    }
    let phrase = kept.join(" ");
    let last = words(&phrase).last()?;
    let vague = |word: &str| ABSTRACT.has(word);
    let someone = is_person(&last) && !trades().any(|trade| trade == last);
    let real = !is_stop_word(&last) && !vague(&last) && !someone && last.len() > 2;
    let firm = !words(&phrase).any(|word| matches!(word.as_str(), "you" | "me" | "him" | "them" | "it"));
    (real && firm).then_some(phrase)
}

fn decapitalised_article(who: &str) -> String {
    if who.contains(' ') { decapitalised(who) } else { who.to_owned() }
}
