//! The built-in apps as templates over what was said: minutes, decisions, open questions.

use std::sync::LazyLock;

use job::FailureCode;
use records::Talk;
use stages::{AppResult, Structure};

use super::dates::{DayOrder, Reference};
use super::language::Language;
use super::pattern::Pattern;
use super::planted::heard;
use super::text::{Sentence, content_stems, pattern, sentences};
use super::{decisions::is_decision, items, overview};

/// Longer lists are cut: they are not read to the end.
const MOST: usize = 12;

/// Questions that ask for nothing: courtesies, requests, tags.
static NO_QUESTION: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)^\W*(?:(?:so|and|but|ok|okay|well|hey|hi)\W+)*(?:how\ are\ you|can\ you\ hear|is\ this\ thing|how\ can\ i\ help|(?:\w+,\ )?(?:can|could|would|will)\ you\b
        |you\ know|isn't\ it|right|really|shall\ i)|,\ (?:right|ok|okay|yeah|isn't\ it|don't\ you)\?$",
    )
});

/// The text of `app_id` about `talk`; empty when there is nothing to say.
pub(super) fn run(
    app_id: &str,
    talk: &Talk,
    structure: &Structure,
    order: DayOrder,
) -> Result<AppResult, FailureCode> {
    let content = match app_id {
        "minutes" => minutes(talk, structure, order),
        "decisions" => bullets(&decisions(&said_in(talk))),
        "questions" => bullets(&questions(&said_in(talk))),
        _ => return Err(FailureCode::AppFailed),
    };
    Ok(AppResult { app_id: app_id.to_owned(), content })
}

fn said_in(talk: &Talk) -> Vec<Sentence<'_>> {
    sentences(talk, Language::of(talk).is_english())
}

fn minutes(talk: &Talk, structure: &Structure, order: DayOrder) -> String {
    let sentences = said_in(talk);
    if sentences.is_empty() {
        return String::new();
    }
    let tasks: Vec<String> = items::extract(&heard(talk, true), &Reference::of(talk, order))
        .iter()
        .map(|item| task_line(item, talk))
        .collect();
    let sections = [
        ("Present", speakers(&sentences).join(", ")),
        ("Summary", structure.overview.clone()),
        ("Decisions", bullets(&decisions(&sentences))),
        ("Action items", bullets(&tasks)),
        ("Open questions", bullets(&questions(&sentences))),
    ];
    let date = talk.started_at.with_timezone(&talk.time_zone).format("%-d %B %Y, %H:%M");
    let mut text = format!("{}\n{date}", structure.title);
    for (heading, body) in sections.iter().filter(|(_, body)| !body.is_empty()) {
        text.push_str(&format!("\n\n{heading}\n{body}"));
    }
    text
}

fn task_line(item: &stages::ItemDraft, talk: &Talk) -> String {
    let owner = item.owner.as_deref().map(|owner| format!(" ({owner})")).unwrap_or_default();
    let due = item
        .due_at
        .map(|due| due.with_timezone(&talk.time_zone).format(", due %-d %B").to_string())
        .unwrap_or_default();
    format!("{}{owner}{due}", item.description)
}

fn speakers<'a>(sentences: &[Sentence<'a>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for name in sentences.iter().filter_map(|sentence| sentence.speaker) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn decisions(sentences: &[Sentence<'_>]) -> Vec<String> {
    let decided = sentences.iter().filter(|sentence| is_decision(&sentence.text));
    decided.map(|sentence| overview::plain(&sentence.text)).take(MOST).collect()
}

/// Questions with a subject that are not answered: the next sentence is another question, or there is none,
/// or it says that the answer is not known.
fn questions(sentences: &[Sentence<'_>]) -> Vec<String> {
    let asks =
        |text: &str| text.ends_with('?') && !NO_QUESTION.is_match(text) && !content_stems(text).is_empty();
    let open = |at: usize| {
        sentences.get(at + 1).is_none_or(|next| next.text.ends_with('?') || is_unsure(&next.text))
    };
    sentences
        .iter()
        .enumerate()
        .filter(|(at, sentence)| asks(&sentence.text) && open(*at))
        .map(|(_, sentence)| overview::plain(&sentence.text))
        .take(MOST)
        .collect()
}

fn is_unsure(answer: &str) -> bool {
    static UNSURE: LazyLock<Pattern> = LazyLock::new(|| {
        pattern(
            r"(?i)\b(?:not sure|don't know|no idea|not yet|good question|maybe|perhaps|probably|have to (?:check|ask|see|find out)|need to (?:check|ask|find out)|i'll (?:check|ask|find out)|to be decided|unclear)\b",
        )
    });
    UNSURE.is_match(answer)
}

fn bullets(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}
