//! What a message asks to be written: a task, a task's state or date, a memory. Only in so many words; a question or a
//! refusal writes nothing.

use std::collections::HashSet;
use std::sync::LazyLock;

use assistant::{DataTool, Step};
use chrono::NaiveTime;
use records::Timestamp;
use regex::Captures;
use serde_json::{Map, Value, json};

use super::words::{best, due_of, local, moment, share, stamp, stems};
use super::{Turn, answer, failed, listed, quoting, tasks, text};
use crate::embedded::items;
use crate::embedded::pattern::Pattern;
use crate::embedded::text::{capitalised, pattern};

/// A question about what was asked is no request, and neither is a refusal.
static QUESTION: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:did|have|has|had|was|were|is|are|do|does|what|when|where|why|who|whose|which|how|should|shall|if)\b",
    )
});
static REFUSAL: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:do not|don't|dont|never|no need to|stop|you (?:don't|needn't|do not)|there is no need|cancel|forget (?:about )?(?:the|that|it))\b",
    )
});
static FORGET_IT: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^(?:forget|cancel|stop) (?:about )?(?:it|that)\W*$"));
/// Refusals in form alone.
static FORGET_NOT: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^(?:do not|don't|dont|never) (?:let me forget|forget)\b"));

static REMIND: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:remind me|set (?:me )?(?:a |an )?reminder|give me a reminder|i (?:need|have|want) to remember|(?:do not|don't|dont|never) (?:let me )?forget|make sure (?:that )?i (?:remember|don't forget)|i (?:must not|mustn't|shouldn't) forget|remember)\b(?P<when>.*?)\b(?P<how>to|about|of|that i (?:have|need|must|should)(?: to)?|for)\b\s+(?P<what>.+)$",
    )
});
/// The same where what stands before "to" says when.
static REMIND_TO: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:remind me|set (?:me )?(?:a |an )?reminder|give me a reminder|i (?:need|have|want) to remember|(?:do not|don't|dont|never) (?:let me )?forget|remember)\b(?P<when>.*?)\bto\b\s+(?P<what>.+)$",
    )
});
/// "Remind me that Tom is allergic to nuts" tells a fact. It names nothing to do.
static CLAUSE: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^\s*(?:that|how|what|who|when|where|why|which|if|whether)\b"));
static ADD: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:add|create|make|put|new|write down|note|set up|enter)\s+(?:me\s+)?(?:(?:a|an|another|one more|the|this)\s+)?(?:new\s+)?)?(?:tasks?|to-?dos?|to do|action items?|reminders?)(?:\s+(?:item|entry))?(?:\s+(?:called|named|saying|that says))?(?:\s*[:,-]\s*|\s+(?:to|for|that i)\s+)(?P<what>.+)$",
    )
});
static ADD_TO: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:add|put|write|note)\s+(?P<what>.+?)\s+(?:to|on|onto|in)\s+(?:my|the)\s+(?:(?:to-?do|todo|to do|task|action item|reminder)s?(?:\s*list)?|list)\b(?P<after>.*)$",
    )
});
static ADD_BARE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:add|create|new|make)\s+(?:(?:an?|the|this)\s+)?(?:new\s+)?(?:task|to-?do|todo|reminder|action item)\s+(?P<what>.+)$",
    )
});
/// The order behind what is to be done: "I have to call Tom by Friday, put it on the list".
static ADD_IT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:i|we) (?:have to|need to|must|should|ought to|'ve got to|want to) (?P<what>.+?)[,;.]\s*(?:so\s+|and\s+)?(?:you can |please |pls |can you |could you )*(?:(?:put|add|note|write) (?:it|that|this)(?: down)? (?:to|on|onto|in) (?:my|the) (?:(?:to-?do|todo|to do|task)s?(?:\s*list)?|list)|remind me(?: of (?:it|that|this))?)\W*$",
    )
});
/// The time before the order: "in two hours remind me to call Tom".
static TIME_FIRST: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)^(?P<when>[^,;:.?!\x22]{2,40}?),?\s+(?:please\s+|pls\s+)?(?P<order>remind me\b.+)$")
});
/// Tasks do not repeat.
static REPEATS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:every|each) (?:(?:other|second|single|first|last) )?(?:day|morning|noon|afternoon|evening|night|week(?:day|end)?|month|quarter|year|hour|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b",
    )
});
/// "Remember when we met?" asks, and orders nothing.
static RECALL: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^remember (?:when|what|who|whom|whose|where|how|why|which|the time|that time|the day|that day)\b",
    )
});
static SELF_NOTE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)^(?:make a note|note|note to self|leave a note)(?:\s+to|\s*:)\s+(?P<what>.+)$")
});

static MARK: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:mark|set|tick|check|cross|flag)\s+(?:off\s+)?(?P<what>.+?)\s*(?:(?:as|to|is)\s+)?\b(?P<state>done|completed?|finished|off|not (?:done|completed?|finished)|undone|open|incomplete|unfinished)\W*$",
    )
});
static CHECK_OFF: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^(?:tick|check|cross)\s+off\s+(?P<what>.+)$"));
static COMPLETE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<verb>complete|finish|close|reopen|re-open)\s+(?P<what>.*\b(?:tasks?|to-?dos?|items?|reminders?)\b.*)$",
    )
});
static IS_DONE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:the |my |that )?(?P<what>.+?) (?:task|to-?do|todo|item|reminder|thing|job|chore|errand|one) (?:is|has been|was) (?:now |already )?(?:done|finished|completed?)\W*$",
    )
});
static DID_IT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^i(?:'ve| have|'m| am)?\s+(?:just |already |now |finally )*(?:done with |finished with )?(?P<what>.+?)[,;.]?\s+(?:so\s+|and\s+|then\s+)?(?:you can |please |pls |can you |could you )*(?:(?:tick|check|cross|mark|take|strike|cross)\s+(?:that|it|this|them)(?: one| task| item)?\s+(?:off|as done|as completed?|as finished|done|completed?)|(?:close|complete)\s+(?:that|it|this|them)(?: one| task| item)?)\b.*$",
    )
});
/// "Done with the tax return!"
static DONE_WITH: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:i(?:'m| am)\s+)?(?:just |already |now |finally )*(?:done|finished) with (?P<what>.+?)\W*$",
    )
});
/// The state behind the task: "the offer is not sent, mark it as open again".
static MARK_IT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<what>.+?)[,;.]\s*(?:so\s+|and\s+|then\s+)?(?:you can |please |pls |can you |could you )*(?:(?:mark|set|flag) (?:it|that|this)(?: one)? (?:back )?(?:as |to )?(?P<state>done|completed?|finished|not (?:done|completed?|finished)|undone|open|incomplete|unfinished)|(?P<reopen>re-?open) (?:it|that|this)(?: one)?)(?: again)?\W*$",
    )
});
static MOVE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:move|postpone|reschedule|push(?: back)?|delay|shift|defer)\s+(?P<what>.+?)\s+(?:to|until|till|by)\s+(?P<when>.+)$",
    )
});
static TIME_ALONE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:at\s+\d{1,2}|(?:at\s+)?(?:(?:half|quarter|a quarter|ten|twenty|five|twenty-five)\s+(?:past|to)\s+\p{L}+|\d{1,2}:\d{2}|\d{1,2}(?:[:.]\d{2})?\s*(?:am|pm|o'clock)|\p{L}+ o'clock|noon|midday|midnight))\W*$",
    )
});
/// Words around the name of a task.
static AROUND: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:the|my|that|this|a|an|task|tasks|to-?do|to-?dos|todo|item|items|action|reminder|thing|job|chore|errand|called|named|about|for|one)\b",
    )
});

static REMEMBER: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:remember|keep in mind|bear in mind|memori[sz]e|note down|note|make a note|take note|save|store|for (?:the|your) record|(?:do not|don't|dont|never) forget|add (?:a |this )?memory|save (?:a |this )?memory)\s*(?:(?P<that>that\b)|this\s*:|[:,])?\s*(?P<what>.+)$",
    )
});
/// A statement, which asks for nothing.
static STATED: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^(?:fyi|for your information|just so you know)\b[\s,:-]*(?P<what>.+)$"));
/// The same behind the fact.
static REMEMBER_THAT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<what>.+?)[,.;:]\s*(?:please\s+|so\s+|and\s+)?(?:remember|note|save|memori[sz]e|keep in mind)\s+(?P<that>that|this|it)\W*$",
    )
});
/// Nothing is deleted here.
static DELETE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:forget (?:that|about|what|everything) (?:i|i'm|i'll|i've|my|you|we|he|she|they|\p{L}+ (?:is|was|has|likes?|loves?|hates?|lives?|works?))\b|(?:delete|remove|erase|drop|get rid of|clear|wipe|scrap|cancel|unsubscribe)\b.*\b(?:tasks?|to-?dos?|todos?|reminders?|items?|memory|memories|conversations?|goals?|messages?|everything|all|list)\b)",
    )
});
/// What is not a fact, behind "remember".
static NO_FACT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:when|what|who|whom|where|how|why|if|whether|which|the time|to|about|me|us|it|that\W*$|this\W*$)\b",
    )
});

/// What is said before the tasks that fit an order equally well: the answer may choose one.
pub(super) const WHICH_TASK: &str = "Which of these do you mean? I changed nothing.\n";

/// "Add a task", without what is to be done.
static NOTHING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:add|create|make|set|new)\s+(?:an?\s+|another\s+|new\s+)*(?:task|to-?do|reminder)[\s.!]*$",
    )
});

pub(super) fn step(turn: &Turn<'_>) -> Option<Step> {
    let bare = turn.message.bare.as_str();
    if DELETE.is_match(bare) {
        return Some(answer(
            "I cannot delete anything, and changed nothing. You can delete it in the app itself.",
        ));
    }
    if REFUSAL.is_match(bare) && !FORGET_NOT.is_match(bare) {
        let asked = [
            "remind", "add", "create", "mark", "remember", "note", "save", "store", "set", "task", "reminder",
        ];
        let about = FORGET_IT.is_match(bare) || asked.iter().any(|word| bare.to_lowercase().contains(word));
        return about.then(|| {
            answer("All right: I changed nothing. Tasks and memories are deleted in the app itself.")
        });
    }
    let is_recall = |bare: &str| {
        let lower = bare.to_lowercase();
        lower.starts_with("remember") && !lower.starts_with("remember to ") && lower.ends_with('?')
    };
    if QUESTION.is_match(bare) || RECALL.is_match(bare) || is_recall(bare) {
        return None;
    }
    if NOTHING.is_match(bare) {
        return Some(answer("What is to be done? Say it in one message. I changed nothing."));
    }
    if let Some((what, completed)) = state_wanted(bare) {
        return Some(change(turn, &what, &Wanted::Completed(completed)));
    }
    if let Some(found) = MOVE.captures(bare) {
        // "Move in to the new flat" has no date, and is no order.
        return wanted_due(turn, &found["when"]).map(|wanted| change(turn, &found["what"], &wanted));
    }
    task(turn, bare).or_else(|| fact(turn, bare))
}

/// What a change does to a task.
enum Wanted {
    Completed(bool),
    Due(Timestamp),
    /// Another time of the day on which it is due.
    Time(NaiveTime),
}

/// A date, with or without a time, or a time alone: "to half past five".
fn wanted_due(turn: &Turn<'_>, when: &str) -> Option<Wanted> {
    let context = turn.round.context;
    let reference = turn.message.reference(context);
    if !TIME_ALONE.is_match(when) {
        return reference.due(when).map(|(_, due)| Wanted::Due(due));
    }
    let (_, due) = reference.due(when).or_else(|| reference.due(&format!("at {when}")))?;
    Some(Wanted::Time(due.with_timezone(&context.zone).time()))
}

/// The moment by which a task is due after a change of the time alone.
fn at_time(turn: &Turn<'_>, item: &Value, time: NaiveTime) -> Option<Timestamp> {
    let context = turn.round.context;
    let day = local(moment(item, "due_at").unwrap_or(context.now), context.zone);
    day.and_time(time).and_local_timezone(context.zone).earliest().map(|at| at.to_utc())
}

fn state_wanted(bare: &str) -> Option<(String, bool)> {
    let undone = |state: &str| {
        let state = state.to_lowercase();
        state.starts_with("not ") || ["undone", "open", "incomplete", "unfinished"].contains(&state.as_str())
    };
    if let Some(found) = CHECK_OFF.captures(bare) {
        return Some((found["what"].to_owned(), true));
    }
    if let Some(found) = MARK.captures(bare) {
        return Some((found["what"].to_owned(), !undone(&found["state"])));
    }
    if let Some(found) = COMPLETE.captures(bare) {
        return Some((found["what"].to_owned(), !found["verb"].to_lowercase().starts_with("re")));
    }
    if let Some(found) = IS_DONE.captures(bare) {
        return Some((found["what"].to_owned(), true));
    }
    if let Some(found) = DID_IT.captures(bare).or_else(|| DONE_WITH.captures(bare)) {
        return Some((found["what"].to_owned(), true));
    }
    let found = MARK_IT.captures(bare)?;
    let completed = found.name("state").is_some_and(|state| !undone(state.as_str()));
    Some((found["what"].to_owned(), completed))
}

/// Finds the one task that is meant, and changes it; asks where there are two, and changes nothing.
fn change(turn: &Turn<'_>, what: &str, wanted: &Wanted) -> Step {
    if let Some(result) = turn.result(DataTool::UpdateActionItem) {
        return match result {
            Ok(item) => {
                let ids = vec![text(item, "id").to_owned()];
                quoting(format!("Done:\n{}", tasks::line(turn, item)), ids)
            }
            Err(words) => failed(words),
        };
    }
    let name = match turn.message.quoted.first() {
        Some(quoted) => quoted.clone(),
        None => AROUND.replace_all(what, " ").split_whitespace().collect::<Vec<_>>().join(" "),
    };
    let words = stems(&name);
    if words.is_empty() {
        return answer("Which task do you mean? I changed nothing.");
    }
    let result = match turn.result(DataTool::ListActionItems) {
        None => {
            // One that is to be opened again is a done one.
            let completed = matches!(wanted, Wanted::Completed(false));
            let query: String = name.trim().chars().take(200).collect();
            let arguments = json!({"completed": completed, "query": query, "limit": 100});
            return turn.call(DataTool::ListActionItems, arguments);
        }
        Some(Ok(result)) => result,
        Some(Err(words)) => return failed(words),
    };
    let items = listed(result, "action_items");
    let mut fitting = fitting(&items, &words);
    // What was done may be said by another verb than what was to be done: "I rang the plumber", "Call the plumber".
    let behind_the_verb = name.trim().split_once(' ').map(|(_, object)| stems(object)).unwrap_or_default();
    if fitting.is_empty() && !behind_the_verb.is_empty() {
        fitting = items;
        fitting.retain(|item| share(&behind_the_verb, text(item, "description")) >= 1.0);
    }
    match fitting.as_slice() {
        [] => answer(format!("I found no such task: \"{}\". I changed nothing.", name.trim())),
        [item] => {
            let mut arguments = Map::from_iter([("id".to_owned(), json!(text(item, "id")))]);
            match wanted {
                Wanted::Completed(completed) => arguments.insert("completed".to_owned(), json!(completed)),
                Wanted::Due(due) => arguments.insert("due_at".to_owned(), json!(stamp(*due))),
                Wanted::Time(time) => {
                    let due = at_time(turn, item, *time).map(stamp);
                    arguments.insert("due_at".to_owned(), json!(due))
                }
            };
            turn.call(DataTool::UpdateActionItem, Value::Object(arguments))
        }
        several => {
            let lines: String = several.iter().map(|item| tasks::line(turn, item)).collect();
            let ids = several.iter().map(|item| text(item, "id").to_owned()).collect();
            quoting(format!("{WHICH_TASK}{lines}"), ids)
        }
    }
}

/// Of tasks, those that have most of the words, and more than half.
fn fitting<'v>(items: &[&'v Value], words: &HashSet<String>) -> Vec<&'v Value> {
    best(items, 0.5, |item| share(words, text(item, "description")))
}

/// A new task, with its date.
fn task(turn: &Turn<'_>, bare: &str) -> Option<Step> {
    let reference = turn.message.reference(turn.round.context);
    let said = TIME_FIRST
        .captures(bare)
        .filter(|said| REPEATS.is_match(&said["when"]) || reference.due(&said["when"]).is_some());
    let order = said.as_ref().map_or(bare, |said| said.name("order").map_or(bare, |order| order.as_str()));
    let found = |pattern: &Pattern| {
        pattern.captures(order).map(|found| {
            let after = found.name("after").map_or("", |after| after.as_str());
            let how = found.name("how").map_or("", |how| how.as_str()).to_lowercase();
            (format!("{}{after}", &found["what"]), how)
        })
    };
    let reminder = || {
        let is_date = |when: &str| stems(when).is_empty() || reference.due(when).is_some();
        let to = REMIND_TO.captures(order).filter(|to| is_date(&to["when"]));
        let to = to.map(|to| (to["what"].to_owned(), "to".to_owned()));
        // "Remember to", but "remember that" is a fact, and so is "do not forget that Tom is allergic to nuts".
        let lower = order.to_lowercase();
        let plain = lower.starts_with("remember");
        let may_be_a_fact = !["remind", "set", "give"].iter().any(|verb| lower.starts_with(verb));
        let is_wish = |found: &Captures<'_>| match may_be_a_fact {
            true => is_date(&found["when"]),
            false => !CLAUSE.is_match(&found["when"]),
        };
        let is_order = REMIND.captures(order).is_some_and(|found| is_wish(&found));
        to.or_else(|| found(&REMIND).filter(|_| is_order)).filter(|(_, how)| !plain || how == "to")
    };
    let (what, how) = found(&ADD_IT)
        .or_else(|| found(&ADD_TO))
        .or_else(|| found(&ADD))
        .or_else(|| found(&SELF_NOTE))
        .or_else(reminder)
        .or_else(|| found(&ADD_BARE))?;
    match turn.result(DataTool::CreateActionItem) {
        Some(Ok(item)) => {
            let when = moment(item, "due_at").map(|due| format!(", due {}", due_of(due, turn.round.context)));
            let ids = vec![text(item, "id").to_owned()];
            let line =
                format!("Added to your tasks: {}{}.", text(item, "description"), when.unwrap_or_default());
            return Some(quoting(line, ids));
        }
        Some(Err(words)) => return Some(failed(words)),
        None => {}
    }
    if REPEATS.is_match(bare) {
        return Some(answer(
            "Tasks do not repeat here, and I added nothing. Name one day, and I remind you on that day.",
        ));
    }
    // "In the evening" may stand before what is to be done.
    let due = reference.due(bare).map(|(_, due)| due);
    let described = items::description_of(&what, &reference).filter(|_| turn.message.quoted.is_empty());
    let description = described.unwrap_or_else(|| {
        let plain = reference.due(&what).map_or_else(|| what.clone(), |(date, _)| date.removed_from(&what));
        capitalised(
            plain.split_whitespace().collect::<Vec<_>>().join(" ").trim_matches(['"', '.', ' ', ',', '!']),
        )
    });
    let description = match how.as_str() {
        "about" | "of" => format!("Reminder: {}", description.trim()),
        _ => description,
    };
    if stems(&description).is_empty() {
        return Some(answer("What shall I remind you of? I added nothing."));
    }
    let mut arguments = Map::from_iter([(
        "description".to_owned(),
        json!(description.chars().take(500).collect::<String>()),
    )]);
    if let Some(due) = due {
        arguments.insert("due_at".to_owned(), json!(stamp(due)));
    }
    Some(turn.call(DataTool::CreateActionItem, Value::Object(arguments)))
}

/// A fact to be remembered.
fn fact(turn: &Turn<'_>, bare: &str) -> Option<Step> {
    if let Some(stated) = STATED.captures(bare) {
        let fact = stated["what"].trim_end_matches(['.', '!']);
        return Some(answer(format!(
            "I kept nothing. If it is to be remembered, say: \"Remember that {fact}\"."
        )));
    }
    let found = REMEMBER.captures(bare).or_else(|| REMEMBER_THAT.captures(bare))?;
    let what = found["what"].trim().trim_end_matches(['.', '!']).trim_matches('"').trim();
    if NO_FACT.is_match(what) || what.ends_with('?') || what.split_whitespace().count() < 2 {
        return None;
    }
    // "Note the time" and "save money" say nothing about anybody: a fact has "that", a colon, or a verb.
    let introduced = found.name("that").is_some() || bare.contains(':') || HAS_VERB.is_match(what);
    if !introduced {
        return None;
    }
    Some(match turn.result(DataTool::CreateMemory) {
        None => {
            let content: String = capitalised(what).chars().take(500).collect();
            turn.call(DataTool::CreateMemory, json!({"content": content}))
        }
        Some(Ok(memory)) => {
            let ids = vec![text(memory, "id").to_owned()];
            quoting(format!("I will remember: {}", text(memory, "content")), ids)
        }
        Some(Err(words)) => failed(words),
    })
}

static HAS_VERB: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:is|are|was|were|am|'s|'m|'re|has|have|had|likes?|loves?|hates?|prefers?|lives?|works?|takes?|eats?|drinks?|needs?|wants?|owns?|speaks?|plays?|cannot|can't|can|will|won't|does|doesn't|don't)\b",
    )
});
