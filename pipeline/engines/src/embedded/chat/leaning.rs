//! Messages that lean on the one before: another day of the same question, "she" of the person just asked about, and the answer to
//! "which of these do you mean?". Each is read as it would be said by itself. But for that answer, which chooses for an order, nothing
//! is written and no app is asked for what only an earlier message says.

use std::sync::LazyLock;

use assistant::{Context, Past, Speaker};

use super::wish::WHICH_TASK;
use super::words::{Message, stems};
use crate::embedded::DayOrder;
use crate::embedded::dates::ranges::Direction;
use crate::embedded::pattern::Pattern;
use crate::embedded::text::pattern;

/// Earlier messages that are read, the newest ones.
const EARLIER: usize = 8;
/// A longer message stands for itself.
const LONGEST: usize = 300;

/// What stands before another day.
static ANOTHER: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)^(?:(?:and|or|but|then|ok|okay|so)\b[\s,]*)*(?:(?:what|how) about\b|what of\b)?")
});
/// A question of its own, although no word of it but the day names a topic: "What is due this week?"
static WHOLE: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)\b(?:due|to do|talk(?:ed|ing)?)\b"));
/// What only asks.
static ASKS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\?\W*$|^(?:what|who|when|where|why|which|whose|how|did|do|does|have|has|had|was|were|is|are|am|any|anything|show|list|recap|summari[sz]e|tell me)\b",
    )
});
static PRONOUN: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)\b(?P<own>his|their|hers|her)\b|\b(?:he|she|they|him|them)\b"));
static NTH: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^(?:the )?(?P<nth>first|second|third|last)(?: one| task)?\W*$"));
/// A person or thing that a question is about.
static NAMED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?:(?i:\b(?:who(?:'s| is| was)|did|does|has|had|about|with|from|to)\s+))(?P<asked>\p{L}[\p{L}'-]{2,})|\s(?P<name>\p{Lu}\p{Ll}[\p{L}'-]*)",
    )
});

/// The message, and those before it that it leans on, as one.
pub(super) fn whole(question: &str, history: &[Past], context: &Context, order: DayOrder) -> Message {
    let mut before: Option<Message> = None;
    let mut heard = "";
    for past in history.get(history.len().saturating_sub(EARLIER)..).unwrap_or_default() {
        match past.speaker {
            Speaker::Human => {
                before = Some(alone(Message::of(&past.text, order), before.as_ref(), heard, context));
                heard = "";
            }
            Speaker::Assistant => heard = &past.text,
            Speaker::App => {}
        }
    }
    alone(Message::of(question, order), before.as_ref(), heard, context)
}

fn alone(message: Message, before: Option<&Message>, heard: &str, context: &Context) -> Message {
    let Some(before) = before.filter(|before| before.text.len().max(message.text.len()) <= LONGEST) else {
        return message;
    };
    chosen(&message, before, heard)
        .or_else(|| another_day(&message, before, context))
        .or_else(|| same_person(&message, before, context))
        .unwrap_or(message)
}

/// One of the tasks that were offered for the order before: the only one that has all words of the message.
fn chosen(message: &Message, before: &Message, heard: &str) -> Option<Message> {
    let offered = heard.strip_prefix(WHICH_TASK)?;
    let offered: Vec<&str> = offered.lines().filter_map(|line| line.strip_prefix("- ")).collect();
    let line = match NTH.captures(&message.bare) {
        Some(nth) => *match nth["nth"].to_lowercase().as_str() {
            "first" => offered.first(),
            "second" => offered.get(1),
            "third" => offered.get(2),
            _ => offered.last(),
        }?,
        None => {
            let wanted = stems(&message.bare.to_lowercase().replace(" one", " "));
            let fits = |line: &&&str| !wanted.is_empty() && wanted.is_subset(&stems(line));
            let mut fitting = offered.iter().filter(fits);
            let (Some(line), None) = (fitting.next(), fitting.next()) else { return None };
            line
        }
    };
    let task = line.rsplit_once(" (").map_or(line, |(task, _)| task);
    Some(before.of_quoted(task))
}

/// "And on Friday?": the question before, of that day.
fn another_day(message: &Message, before: &Message, context: &Context) -> Option<Message> {
    let at = ANOTHER.find(&message.text).map_or(0, |found| found.end());
    let rest = message.text.get(at..)?;
    let span = message.reference(context).span(rest, Direction::Past)?;
    let mut left = rest.to_owned();
    left.replace_range(span.named.clone(), " ");
    if !stems(&left).is_empty() || WHOLE.is_match(&left) || !ASKS.is_match(&before.bare) {
        return None;
    }
    let day = rest.get(span.named)?;
    let mut text = before.text.clone();
    match before.span(context, Direction::Past) {
        Some(old) => text.replace_range(old.named, day),
        None => text = format!("{} {day}?", text.trim_end_matches(['?', '!', '.', ' '])),
    }
    Some(before.leaning(&text))
}

/// "What did she say?": of the person whom the question before names.
fn same_person(message: &Message, before: &Message, context: &Context) -> Option<Message> {
    let found = PRONOUN.captures(&message.text).filter(|_| ASKS.is_match(&message.bare))?;
    let spoken = message.text.get(..found.get(0)?.start())?;
    if name_in(spoken, message, context).is_some() {
        return None;
    }
    let name = name_in(&before.text, before, context)?;
    let name = if found.name("own").is_some() { format!("{name}'s") } else { name };
    let mut text = message.text.clone();
    text.replace_range(found.get(0)?.range(), &name);
    Some(message.leaning(&text))
}

/// The last person or thing that a question names.
fn name_in(text: &str, message: &Message, context: &Context) -> Option<String> {
    let is_a_day = |name: &str| message.reference(context).span(name, Direction::Past).is_some();
    let named = NAMED.captures_iter(text).filter_map(|found| {
        let name = found.name("name").or_else(|| found.name("asked"))?.as_str();
        (!stems(name).is_empty() && !is_a_day(name)).then(|| name.to_owned())
    });
    named.last()
}
