//! Speech as recognizers write it: no stops, no commas, no capitals, and chat without apostrophes. Sentences are
//! cut where people begin a new one when they speak.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Captures;

use super::lexicon::{Listed, WordList, is_task_verb};
use super::pattern::Pattern;

/// Longer runs of words without a comma or a stop come from a writer who uses none.
const UNPUNCTUATED: usize = 9;

/// Words with which a new sentence begins in speech, in the two or three that make it sure.
static OPENING: LazyLock<Pattern> = LazyLock::new(|| {
    Pattern::new(
        r"(?ix)\b(?:
            (?:can|could|would|will)\s+(?:you|someone|somebody|anyone)\b
          | i(?:'ll|'ve|'m|'d)\b | i\s+(?:will|have|need|should|must|can|am|was|want|live|work|still|also|think|just|promised)\b
          | we(?:'ll|'ve|'re)\b | we\s+(?:will|have|need|should|must|can|are|still|also|agreed|decided)\b
          | you(?:'ll)\b | you\s+(?:should|must|have\s+to|need\s+to)\b
          | (?:someone|somebody|everyone|everybody)\s+(?:has|needs|should|must|will)\b
          | (?:please|don't\s+forget|make\s+sure|remind\s+me|remember\s+to|let's|let\s+me|note\s+to\s+self)\b
          | before\s+i\s+forget\b
          | (?:they're|it's|that's|he's|she's)\b | (?:they|he|she|it)\s+(?:wants?|will|needs?|can)\b
          | and\s+then\s+(?:the|my|our|i|we|there|i'll|there's)\b
          | (?:mum|mom|dad|\p{L}+)s\s+birthday\b
          | (?:the|my|our)\s+(?:new\s+|old\s+|first\s+|next\s+)?\p{L}+(?:\s+(?:for|of)\s+the\s+\p{L}+|\s+\p{L}+)?\s+(?:is|are|was|were|has|have|had|needs?|will|wants?|comes?|arrives?|starts?|expires?|visits)\s
          | (?:there's|there\s+is|there\s+are)\s
          | (?:call|ring|phone|email|text|buy|book|pay|send|pick\s+up|order|cancel|return|renew|fix|clean|wash|check|ask|tell|remind|bring|fetch|collect|post|print|water|feed|take|put|sort\s+out)\s+(?:the|my|our|your|his|her|an|some|mum|dad|mom|him|them)\b
          | also\s+(?:call|ring|phone|email|text|buy|book|pay|send|pick|get|order|cancel|return|renew|fix|check|ask|tell|remind|bring|fetch|collect|print|water|feed|i|we|you|they|the|my|our|can|could|please|don't|remember|let's|there)\b | (?:okay|ok|yeah|oh|anyway|cheers|bye|lovely|thanks|right\s+so|by\s+the\s+way)\b
        )",
    )
});

/// What begins a sentence whatever stands before it.
static OPENS: LazyLock<Pattern> = LazyLock::new(|| {
    Pattern::new(
        r"(?i)^(?:also|anyway|by\s+the\s+way|before\s+i\s+forget|okay|ok|oh|and\s+then|note\s+to\s+self)\b",
    )
});

/// After these the words go on: a clause that depends, words that are quoted, or a pair.
static GOES_ON: WordList = WordList::new(
    "and or but so then if when because cause that before after until unless what which who whom how where why \
    than as once while whether whatever think thought said says say guess know knew hope believe mean sure also maybe \
    perhaps like um uh oh okay ok yeah well since though although wish bet suppose figured told afraid happy glad sorry the a \
    an my your our their this these of for to with in on at by from about please not never only just i we you they he she it is was \
    do does did should could would can will must have had shall are were not check ensure notice noticed saw \
    heard feel felt see hear whose both all half",
);

/// Contractions whose apostrophe was left out, none of which is another word.
static BARE: LazyLock<Pattern> = LazyLock::new(|| {
    Pattern::new(
        r"(?i)\b(?:(?P<not>do|does|did|ca|wo|is|was|are|were|could|should|would|have|has|had)nt|(?P<who>i)(?P<be>m|ve)|(?P<you>you|they)(?P<aux>ll|re|ve)|(?P<it>that|what|he|she|there|here|where|who|how)(?P<is>s))\b",
    )
});

/// "Comin'", "mornin'": an ending that some people do not say.
static DROPPED: LazyLock<Pattern> =
    LazyLock::new(|| Pattern::new(r"(?i)\b(?P<word>\p{L}{2,}in)'(?P<after>\s|$|[.,;!?])"));

/// `text` with the endings that are not said.
pub(super) fn with_endings(text: &str) -> Cow<'_, str> {
    DROPPED.replace_all(text, "${word}g${after}")
}

/// "Ill buy it": before a verb it is no illness.
static ILL: LazyLock<Pattern> = LazyLock::new(|| {
    Pattern::new(
        r"(?i)(?P<before>^|[,.;:!?]\s+|\b(?P<word>[\p{L}']+)\s+)(?P<i>i)(?P<will>ll|d)\s+(?P<verb>[\p{L}-]+)\b",
    )
});

/// Spellings of chat and of dialects, and the words that they stand for.
const SPELLINGS: &[(&str, &str)] = &[
    ("u", "you"),
    ("ur", "your"),
    ("pls", "please"),
    ("plz", "please"),
    ("thx", "thanks"),
    ("ye", "you"),
    ("yer", "your"),
    ("tae", "to"),
    ("fae", "from"),
    ("frae", "from"),
    ("wi'", "with"),
    ("gonnae", "going to"),
    ("oughta", "ought to"),
    ("hafta", "have to"),
    ("y'all", "you all"),
    ("gie", "give"),
    ("'em", "them"),
    ("the morra", "tomorrow"),
    ("the morn", "tomorrow"),
    ("arvo", "afternoon"),
    ("shud", "should"),
    ("cud", "could"),
    ("wud", "would"),
    ("til", "until"),
    ("thurs", "thursday"),
    ("tues", "tuesday"),
    ("comin", "coming"),
    ("goin", "going"),
    ("gettin", "getting"),
    ("doin", "doing"),
    ("bringin", "bringing"),
    ("havin", "having"),
    ("takin", "taking"),
    ("makin", "making"),
    ("dinnae", "don't"),
    ("cannae", "can't"),
    ("didnae", "didn't"),
];

static SPELLED: LazyLock<Pattern> = LazyLock::new(|| {
    let spelled = SPELLINGS.iter().map(|(spelled, _)| *spelled).collect::<Vec<_>>().join("|");
    Pattern::new(&format!(r"(?P<before>^|[\s(,;:])(?P<word>{spelled})(?P<after>$|[\s.,;:!?)])"))
});

/// `text` in the words that chat and dialects spell in their own way. Only small letters: "U" may be a name.
pub(super) fn with_plain_spelling(text: &str) -> Cow<'_, str> {
    SPELLED.replace_all(text, |found: &Captures<'_>| {
        let word = &found["word"];
        let plain = SPELLINGS.iter().find(|(spelled, _)| *spelled == word).map_or(word, |(_, plain)| plain);
        format!("{}{plain}{}", &found["before"], &found["after"])
    })
}

/// `text` with the apostrophes that chat leaves out.
pub(super) fn with_apostrophes(text: &str) -> Cow<'_, str> {
    let text = ILL.replace_all(text, |found: &Captures<'_>| {
        let word = found.name("word").map_or_else(String::new, |word| word.as_str().to_lowercase());
        // "She was ill, take her home", "the id like that".
        let verb = found["verb"].to_lowercase();
        let acts = is_task_verb(&verb) || MODAL_VERBS.has(&verb);
        if !acts || NO_WILL.has(&word) {
            return found[0].to_owned();
        }
        format!("{}{}'{} {}", &found["before"], &found["i"], &found["will"], &found["verb"])
    });
    let text = ITS.replace_all(&text, "${it}'s ${next}").into_owned();
    Cow::Owned(with_bare_apostrophes(&text).into_owned())
}

/// Verbs that follow "I'll" and "I'd" and are no tasks.
static MODAL_VERBS: WordList = WordList::new(
    "like need say rather love prefer look stop put be do go have make give take try let see come never also just",
);

/// After these, "ill" and "id" are words of their own.
static NO_WILL: WordList = WordList::new(
    "is was are were am be been being feel feeling felt feels fell fall get gets got getting look looks looked very really so too quite \
    seriously the a an my your our his her their this that no new old photo user student he's she's i'm im you're youre they're",
);

/// "Its on the third", "lets meet": before these words no possessive and no verb.
static ITS: LazyLock<Pattern> = LazyLock::new(|| {
    Pattern::new(
        r"(?i)\b(?P<it>it|let)s\s+(?P<next>(?:an?|the|not|been|at|on|in|for|so|too|very|my|your|our|gonna|going|just|still|really|about|like|only|all|always|never|over|up|due|from|say|do|meet|go|have|make|take|get|see|talk|try|call|book|plan|move|start|keep|leave|put|ask|check|that|because|nearly|almost)\b)",
    )
});

fn with_bare_apostrophes(text: &str) -> Cow<'_, str> {
    BARE.replace_all(text, |found: &Captures<'_>| {
        let part = |name: &str| found.name(name).map_or("", |part| part.as_str());
        if !part("it").is_empty() {
            return format!("{}'{}", part("it"), part("is"));
        }
        match (part("not"), part("who")) {
            ("", "") => format!("{}'{}", part("you"), part("aux")),
            ("", who) => format!("{who}'{}", part("be")),
            (verb, _) => format!("{verb}n't"),
        }
    })
}

/// The sentences of a text without stops: as it is when it has commas or is short, else cut where a new one begins,
/// and after `longest` words at the latest.
pub(super) fn cut(text: &str, longest: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut from = 0;
    if is_unpunctuated(text) {
        for found in OPENING.spans(text) {
            let before = text.get(from..found.start).unwrap_or_default();
            let opens = OPENS.is_match(text.get(found.clone()).unwrap_or_default());
            if begins(before, opens) {
                pieces.push(before.trim());
                from = found.start;
            }
        }
    }
    pieces.push(text.get(from..).unwrap_or_default().trim());
    pieces.into_iter().flat_map(|piece| chunks(piece, longest)).collect()
}

fn is_unpunctuated(text: &str) -> bool {
    // "Lou: ok", in a chat, is no punctuation of the speaker's, and neither is 10:30.
    let said = text.split_once(": ").filter(|(label, _)| !label.contains(' ')).map_or(text, |(_, said)| said);
    !said.contains([',', ';']) && !said.contains(": ") && said.split(' ').count() > UNPUNCTUATED
}

/// Whether what stands before leaves room for a new sentence: two words, and the last not one that goes on. Looks at
/// its first and last words alone, so that a long line costs what its length is.
fn begins(before: &str, opens: bool) -> bool {
    let filler = |word: &&str| matches!(*word, "um" | "uh" | "er" | "erm");
    let mut from_last = before.trim_end().rsplit(' ').skip_while(filler);
    let last = from_last.next().unwrap_or_default().to_lowercase();
    // "I told Pat I'd bring it", "let mum call the doctor".
    let reports = from_last.next().is_some_and(|word| {
        matches!(
            word,
            "told" | "promised" | "asked" | "let" | "make" | "help" | "have" | "so" | "know" | "to" | "phone"
        )
    });
    before.split_whitespace().nth(1).is_some()
        && !reports
        && !last.ends_with("'d")
        && !last.ends_with("'ll")
        // "Can they fit me in also I promised Helen": before "also" a preposition is a particle.
        && if opens {
            !matches!(last.as_str(), "and" | "or" | "but" | "so" | "um" | "uh" | "oh" | "i" | "we" | "you" | "the" | "a" | "can" | "could")
        } else {
            !GOES_ON.has(&last)
        }
}

fn chunks(piece: &str, longest: usize) -> Vec<String> {
    let words: Vec<&str> = piece.split(' ').filter(|word| !word.is_empty()).collect();
    words.chunks(longest).map(|chunk| chunk.join(" ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speech_is_cut_where_people_begin_anew() {
        let said = "the printer is broken again can you call the repair people i'll be out until noon also we need to order toner";
        assert_eq!(
            cut(said, 60),
            [
                "the printer is broken again",
                "can you call the repair people",
                "i'll be out until noon",
                "also we need to order toner"
            ]
        );
    }

    #[test]
    fn what_depends_stays_with_what_it_depends_on() {
        for whole in [
            "they will be glad to know that we have found the key",
            "nobody would believe how we can live without a car here",
            "I'll send you the report, and then we should talk about the rest of it.",
            "Can you send it?",
        ] {
            assert_eq!(cut(whole, 60), [whole]);
        }
    }

    #[test]
    fn missing_apostrophes_come_back_and_words_stay_words() {
        assert_eq!(with_apostrophes("dont worry im late, youll wait"), "don't worry i'm late, you'll wait");
        assert_eq!(with_apostrophes("the ill want a wont cant"), "the ill want a won't can't");
        assert_eq!(with_apostrophes("well were they canted"), "well were they canted");
    }
}
