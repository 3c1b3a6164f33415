//! Tasks in words that no rule reads, of sentences that most likely name one: what is to be done is taken from the verb on,
//! and where no verb says it, the sentence is the task.

use std::ops::Range;
use std::sync::LazyLock;

use stages::ItemDraft;

use super::listener::only_begins;
use super::orders::AWAITS;
use super::things::Things;
use super::{Found, REFERRING, wording};
use crate::embedded::dates::Reference;
use crate::embedded::lexicon::{Listed, WordList, base_of_gerund, base_of_participle, is_task_verb};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{Sentence, pattern, without_opening};

/// The odds from which a sentence has a task although no rule reads it, if a verb of doing says which.
pub(super) const LIKELY: f32 = 0.5;
/// The odds from which it is a task as it stands.
const CLEAR: f32 = 1.5;

/// Hypotheses ("I would call him if I had his number"), decisions, preferences, and what something shows or costs are no tasks.
static UNREAL: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:would|'d)\b.*\bif\s+\p{L}+\s+(?:had|were|was|could)\b|\bwish\b|\bnobody\b|\b(?:is|are|looks?)\s+(?:always\s+|usually\s+)?best\s+(?:in|at|when|with)\b|\bif\s+only\b|\bdecided\b|\bprefer\b|\b(?:shows?|says?|means?|proves?)\s+that\b|\bcosts?\b.*\bto\s+\p{L}|\b(?:it|that)\s+(?:takes?|took)\b.*\bto\s+\p{L}|\b(?:would|could|should|might)(?:'ve|\s+have)\b|\bneed\s+(?:the|your)\s+(?:\p{L}+\s+){0,2}number\b|\bkeep\s+(?:it|this)\s+(?:short|brief)\b",
    )
});

/// "And don't take out anything on credit".
static FORBIDS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:and|but|so|oh|well|please|just|yes|no|ok|okay)\W+)*(?:don't|do\s+not|never)\s+(?P<verb>\p{L}+)",
    )
});

/// The task of a sentence that no rule reads.
pub(super) fn task(
    sentence: &Sentence<'_>,
    odds: f32,
    objects: &Things,
    reference: &Reference,
) -> Option<Found> {
    let forbids =
        FORBIDS.captures(&sentence.text).is_some_and(|found| !found["verb"].eq_ignore_ascii_case("forget"));
    if UNREAL.is_match(&sentence.text) || only_begins(&sentence.text) || forbids {
        return None;
    }
    let said = without_opening(&sentence.text);
    let owner = MINE.is_match(&said).then(|| sentence.speaker.map(str::to_owned)).flatten();
    let whole = |action: String| match objects.meant_by(&action).filter(|_| REFERRING.is_match(&action)) {
        Some(thing) => {
            REFERRING.replace(&action, format!("${{verb}} {thing}${{next}}").as_str()).into_owned()
        }
        None => action,
    };
    let action = |said: &str| action(said).filter(|action| !AWAITS.is_match(action));
    let done = action(&said).and_then(|action| wording::description(&whole(action), false, reference));
    // "I'll send someone round to look at it": what "it" is, the people know.
    let promised = PROMISE.is_match(&said);
    let as_said = || {
        // "There's a course, I'll sign you up for it."
        if THERE_IS.is_match(&said) {
            return action(&said).and_then(|action| wording::description(&action, true, reference));
        }
        if TELLS.is_match(&said) || YOU_GET.is_match(&said) {
            return None;
        }
        let said = PROMISE.replace(&said, "");
        // "I'll need pictures."
        let needed = said.strip_prefix("need ").map(|what| format!("provide {what}"));
        let said = needed.as_deref().unwrap_or(&said);
        wording::description(said, promised, reference).filter(|_| odds > CLEAR)
    };
    let said_so = done.is_none();
    let mut description = done.or_else(as_said)?;
    objects.explain(&mut description, "");
    let due_at = reference.due(&sentence.text).map(|(_, moment)| moment);
    let item = ItemDraft { description, owner, due_at, evidence: None };
    Some(Found { item, refers: None, proposed: false, joint: false, asked: false, as_said: said_so })
}

static THERE_IS: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^there(?:'s|'re|\s+is|\s+are|\s+will\s+be|'ll\s+be)\b"));
/// What leads the verb of a promise.
static PROMISE: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^(?:i'll|i\s+will|i'm\s+going\s+to|we'll|we\s+will|let\s+me)\s+"));

/// "You'll get an email with a link".
static YOU_GET: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)^you(?:'ll|\s+will|\s+should)\s+(?:\p{L}+\s+)?(?:get|receive|hear|see|notice|find|feel)\b")
});

/// "We've got one daughter", "they're putting in a new one": what is told.
static TELLS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:i'm|i\s+(?:am|was|wanted|went|had|got|think|thought|know)|we've\s+got|we\s+(?:are|were|had|went)|we're|they're|they\s+(?:are|have|had|were)|he's|she's|it's|if|for|gave|had|went|one|two|three|four)\b",
    )
});

/// Words after which a verb in its base form says what is to be done.
static LEADS: WordList = WordList::new(
    "to will i'll we'll you'll he'll she'll they'll should must can could would gonna gotta let's please better i'd \
    we'd you'd and somebody someone everybody everyone shall just",
);
/// Between those and the verb.
static ADVERBS: WordList = WordList::new(
    "just also really maybe perhaps probably quickly definitely still then please kindly first at least all both only \
    always even finally actually either rather ever",
);
/// Verbs that carry a task together with their object.
static LIGHT: WordList = WordList::new(
    "get put make take do keep leave give have go come look set let pop drop sort stick stay nip see find turn hold bring try \
    be pull push cover mind use throw knock swing stop remember deal arrange start tie fit join drive wear eat drink",
);
/// After "be": where or how a person is to be.
static PRESENT: WordList =
    WordList::new("at in there here home back on ready with outside around up early prepared");
/// Before a gerund.
static TO_DO: WordList = WordList::new(
    "about of for mind needs need wants want on by try start keep is are 'm i'm we're you're he's she's they're worth \
    without after before consider requires fancy",
);

/// "The carpet hasn't been ordered", "the bill is still not paid".
static UNDONE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<what>.{3,60}?)\s*\b(?:(?:still\s+)?(?:hasn't|haven't|has\s+not|have\s+not)\s+(?:yet\s+)?(?:been\s+)?|(?:is|are|'s|isn't|aren't)\s+(?:still\s+)?(?:not\s+|to\s+be\s+|waiting\s+to\s+be\s+)?|(?:needs?|wants?|has|have|got|ought|supposed|due|must|should|to)\s+(?:to\s+)?(?:be\s+|get\s+)|(?:needs?|wants?)\s+)(?P<done>\p{L}+)\b(?P<rest>.*)$",
    )
});
/// A speaker who takes it on.
static MINE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:i'll|i\s+will|i\s+can|i\s+could|i'm|i\s+am|i\s+need|i\s+have\s+to|i've\s+(?:got\s+)?to|i've\s+still|i\s+still|i\s+must|i\s+should|i\s+ought|i\s+promised|i\s+want|i'd|let\s+me|on\s+me|with\s+me|to\s+me|i\s+owe|i\s+was\s+going|i\s+meant|i\s+forgot|i\s+haven't)\b",
    )
});

/// What is to be done, from its verb on.
fn action(said: &str) -> Option<String> {
    let words: Vec<Range<usize>> = WORD.find_iter(said).map(|word| word.range()).collect();
    let bare =
        |at: usize| words.get(at).and_then(|span| said.get(span.clone())).unwrap_or_default().to_lowercase();
    let from = |at: usize| words.get(at).and_then(|span| said.get(span.start..)).unwrap_or_default();
    // "Nobody has to be cold."
    let is = |at: usize| bare(at) != "be" || PRESENT.has(&bare(at + 1));
    let does = |verb: &str| is_task_verb(verb) || LIGHT.has(verb);
    // The last word has no object.
    let verbs = 0..words.len().saturating_sub(1);
    // "Ring them", "could you ring them", "better just ring them".
    let led = |at: usize| match at.checked_sub(1).map(bare) {
        Some(adverb) if at > 1 && ADVERBS.has(&adverb) => LEADS.has(&bare(at - 2)),
        Some(before) => LEADS.has(&before),
        None => true,
    };
    if let Some(at) = verbs.clone().find(|at| led(*at) && does(&bare(*at)) && is(*at)) {
        return Some(from(at).to_owned());
    }
    if let Some(found) = UNDONE.captures(said) {
        let done = found["done"].to_lowercase();
        let verb = base_of_participle(&done).map(str::to_owned).or_else(|| base_of_gerund(&done));
        if let Some(verb) = verb.filter(|verb| is_task_verb(verb)) {
            return Some(format!("{verb} {}{}", &found["what"], &found["rest"]));
        }
    }
    // "Would you mind turning it down", "I'm ringing the vet".
    verbs.skip(1).filter(|at| TO_DO.has(&bare(at - 1))).find_map(|at| {
        let verb = base_of_gerund(&bare(at)).filter(|verb| does(verb))?;
        Some(format!("{verb} {}", from(at + 1)))
    })
}

static WORD: LazyLock<Pattern> = LazyLock::new(|| pattern(r"[\p{L}\d][\p{L}\d'-]*"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_something_shows_or_costs_is_no_task() {
        for said in [
            "The architect says that it would cost about four thousand to do it properly.",
            "The photographs show that it once had a green stove.",
            "It took three weekends to clear it.",
        ] {
            assert!(UNREAL.is_match(said), "{said}");
        }
        for said in
            ["Find out what it costs.", "Show the export on Friday.", "Say hello to Tom, I took his coat."]
        {
            assert!(!UNREAL.is_match(said), "{said}");
        }
    }
}
