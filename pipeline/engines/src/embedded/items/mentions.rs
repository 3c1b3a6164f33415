//! What a talk has named lately, for pronouns that are left in a task: "fetch them" after "how are the wigs?" is to fetch the
//! wigs.

use std::collections::VecDeque;
use std::sync::LazyLock;

use super::named::{Kind, Mention, named};
use crate::embedded::lexicon::{Listed, WordList};
use crate::embedded::pattern::Pattern;
use crate::embedded::text::pattern;

/// How many sentences that say something a pronoun may reach back over.
const REACH: usize = 3;

/// What is named so far back, or so in passing, is not meant.
const TOO_FAR: i32 = -7;

/// More mentions are not kept.
const KEPT: usize = 24;

/// What was named lately.
#[derive(Default)]
pub(super) struct Mentions {
    latest: VecDeque<Mention>,
    heard: usize,
}

impl Mentions {
    /// Remembers what `sentence` names.
    pub(super) fn heard(&mut self, sentence: &str) {
        // "Yes, of course." puts no distance between what is named and what means it.
        if sentence.split_whitespace().count() > 3 {
            self.heard += 1;
        }
        self.latest.extend(named(sentence, self.heard));
        while self.latest.len() > KEPT {
            self.latest.pop_front();
        }
    }

    /// `description` with what its pronoun means, if there is room for it; `before` is what the sentence says before the task.
    pub(super) fn explained(&self, description: &str, before: &str) -> Option<String> {
        self.filled(description, before).filter(|whole| whole.split(' ').count() <= super::wording::LONGEST)
    }

    /// The same, however long.
    pub(super) fn filled(&self, task: &str, before: &str) -> Option<String> {
        let [lead, pronoun, rest] = parts(task)?;
        let meant = self.meant_by(&pronoun, &lead, before)?;
        Some(format!("{lead} {meant}{rest}"))
    }

    /// What the pronoun of `task` means.
    pub(super) fn meant(&self, task: &str, before: &str) -> Option<String> {
        let [lead, pronoun, _] = parts(task)?;
        self.meant_by(&pronoun, &lead, before)
    }

    fn meant_by(&self, pronoun: &str, lead: &str, before: &str) -> Option<String> {
        let contacts = turns_to(lead);
        let fits = |mention: &Mention| match pronoun {
            "it" | "this" => mention.kind != Kind::Person && !mention.many,
            "that" => mention.kind != Kind::Person && !mention.many && mention.weight >= 0,
            "them" if contacts => mention.kind != Kind::Thing,
            "them" | "those" | "these" | "some" => mention.kind == Kind::Thing && mention.many,
            "one" => mention.kind == Kind::Thing,
            "him" | "her" => mention.kind == Kind::Person && !mention.many,
            _ => false,
        };
        let here = named(before, self.heard + 1);
        let all = self.latest.iter().chain(&here);
        let near = all.filter(|mention| fits(mention)).filter_map(|mention| {
            let ago = (self.heard + 1).saturating_sub(mention.at);
            let far = [0, 1, 4, 6].get(ago).filter(|_| ago <= REACH)?;
            // One person is seldom "them".
            let odd = i32::from(pronoun == "them" && mention.kind == Kind::Person && !mention.many);
            Some((mention.weight - far - odd, mention))
        });
        let (_, best) = near.filter(|(score, _)| *score > TOO_FAR).max_by_key(|(score, _)| *score)?;
        Some(match pronoun {
            "some" => format!("some {}", best.name),
            "one" if best.many => format!("one of the {}", best.name),
            // "A uniform" is said more often than "an umbrella".
            "one" if best.name.starts_with(['a', 'e', 'i', 'o']) => format!("an {}", best.name),
            "one" => format!("a {}", best.name),
            _ => format!("the {}", best.name),
        })
    }
}

/// The words before a pronoun, the pronoun, and those after it.
fn parts(task: &str) -> Option<[String; 3]> {
    let found = FORMS.iter().find_map(|form| form.captures(task))?;
    let [lead, pronoun, rest] =
        ["lead", "what", "rest"].map(|part| found.name(part).map_or("", |part| part.as_str()).to_owned());
    let verb = lead.split(' ').next().unwrap_or_default().to_lowercase();
    // "Find out from IT".
    if pronoun == "IT" {
        return None;
    }
    let idle = IDLE.has(&verb) || verb == "give" && GIVES_TIME.is_match(&rest);
    (!idle).then(|| [lead, pronoun.to_lowercase(), rest])
}

/// "Give them until Friday".
static GIVES_TIME: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\s+(?:until|till|an?\s+(?:week|day|month|hour|chance|go|try)|time|more\s+time|two|three)\b",
    )
});
/// Whether "them" behind `lead` are people.
fn turns_to(lead: &str) -> bool {
    CONTACTS.has(&lead.to_lowercase()) || ADDRESSES.is_match(lead)
}

/// Whether the pronoun of `task` can only mean people.
pub(super) fn means_people(task: &str) -> bool {
    parts(task).is_some_and(|[lead, pronoun, _]| pronoun == "them" && turns_to(&lead))
}

/// Where a pronoun stands for what is to be done something with.
static FORMS: LazyLock<[Pattern; 6]> = LazyLock::new(|| {
    let particle =
        "up|out|off|down|back|over|after|into|for|at|through|round|on|in|to|with|from|about|by|past|of";
    let after = r"\W*$|[,;]|\s+(?:to|for|by|on|in|at|with|up|out|off|over|back|down|away|from|about|into|before|after|as|round|through|past|together|aside|again|ready|done|sorted|fixed|checked|signed|cleaned|delivered|repaired|sent|printed|online|properly|first|myself|yourself|and|when|if)\b";
    let person = r"\W*$|[,;]|\s+(?:to|for|by|on|in|at|with|up|out|off|over|back|down|away|from|about|into|before|after|every|again|if|whether|when|what|who|how|where|why|that|know|tomorrow|tonight|today)\b";
    [
        // "Weigh him every Sunday", "ask her who it was".
        format!(r"(?i)^(?P<lead>\p{{L}}+(?:\s+(?:{particle}))?)\s+(?P<what>him|her)(?P<rest>(?:{person}).*|)$"),
        // "Open up for him".
        r"(?i)^(?P<lead>\p{L}+\s+[^,;]*\b(?:for|with|about|to|from))\s+(?P<what>him|her)(?P<rest>\W*)$".to_owned(),
        // "Fetch them", "have it rewritten".
        format!(r"(?i)^(?P<lead>\p{{L}}+(?:\s+(?:{particle}))?)\s+(?P<what>it|them)\b(?P<rest>.*)$"),
        // "Look after those", "pick some up".
        format!(
            r"(?i)^(?P<lead>\p{{L}}+(?:\s+(?:{particle}))?)\s+(?P<what>that|those|these|this|some|one)(?P<rest>(?:{after}).*|)$"
        ),
        // "Text me it", "write you one".
        format!(
            r"(?i)^(?P<lead>\p{{L}}+(?:\s+(?:up|out))?\s+(?:me|us|you|him|her|them|everyone))\s+(?P<what>it|one|some|those|that|them)(?P<rest>(?:{after}).*|)$"
        ),
        // "Write the tests for it".
        r"(?i)^(?P<lead>\p{L}+\s+\p{L}[^,;]*\s(?:for|with|about|on|to|of|in|at|into|after|from))\s+(?P<what>it|them|that|those)(?P<rest>\W*)$"
            .to_owned(),
    ]
    .map(|form| pattern(&form))
});
/// Verbs with which a pronoun means nothing that was named.
static IDLE: WordList = WordList::new(
    "what why how where when who which do make let see try be go keep say hear think know mean like love",
);
/// Verbs whose object is whom one turns to.
static CONTACTS: WordList = WordList::new(
    "call ring phone ask tell inform remind invite warn thank contact chase notify pay visit message text email ping",
);
/// "Write to", "talk to".
static ADDRESSES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:write|talk|speak|reply|report|go|get\s+back|come\s+back|reach\s+out|turn)\s+to|follow\s+up\s+with|(?:check|speak|talk|coordinate|meet)\s+with|(?:ask|call|send|write|tell|get)\s.*\s(?:from|to))$",
    )
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pronoun_that_is_left_in_a_task_means_what_was_named() {
        for (said, description, meant) in [
            (
                &["Hatty, how are the wigs?", "Two are back, two are still at the cleaner's."][..],
                "Fetch them",
                Some("Fetch the wigs"),
            ),
            (
                &["The on-call rota isn't fair, I've had four weekends in a row.", "You're right."],
                "Rework it",
                Some("Rework the on-call rota"),
            ),
            (
                &["He'll want the risk assessment.", "Haven't you got that?", "I've got last year's."],
                "Have it rewritten",
                Some("Have the risk assessment rewritten"),
            ),
            (
                &["The neighbours are complaining about the noise."],
                "Write to them",
                Some("Write to the neighbours"),
            ),
            (&["The council says it is our tap."], "Ring them", Some("Ring the council")),
            (&["I need ten examples for the training."], "Collect some", Some("Collect some examples")),
            (
                &["Could you give me the sheet about sleep?"],
                "Email it to you",
                Some("Email the sheet to you"),
            ),
            (&["It's cold, isn't it?"], "Fetch them", None),
            (&["The boiler's broken."], "Do it", None),
        ] {
            let mut mentions = Mentions::default();
            said.iter().for_each(|sentence| mentions.heard(sentence));
            assert_eq!(mentions.explained(description, "").as_deref(), meant, "{said:?}");
        }
    }
}
